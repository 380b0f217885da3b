"""What the server and its analysis worker say to each other.

Everything here is plain data, so that it pickles fast and neither side needs the other's imports: the server never
loads the analysis, the worker never loads the protocol. Places are already in the client's units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar

from gradsense.machine.outside import Known
from gradsense.syntax.columns import Encoding
from gradsense.types.messages import LookedUp, LookUp


@dataclass(frozen=True, slots=True)
class Place:
    """A range as the protocol counts it: lines and characters from 0, the end not included."""

    line: int
    character: int
    end_line: int
    end_character: int


@dataclass(frozen=True, slots=True)
class CellText:
    """One Python cell of a notebook.

    Args:
        name: what the cell goes by, in place of a path, in all that is said about it.
        index: its number among all cells of the notebook, from 0.
        text: all of it, magics included.
    """

    name: str
    index: int
    text: str


@dataclass(frozen=True, slots=True)
class RelatedView:
    """Another line of a finding's story, with the text of that line, and where it is as a person says it, as seen from
    the finding: `line 4`, `models.py line 4`, `cell 2 line 4`."""

    path: str
    place: Place
    message: str
    text: str
    where: str


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding as the server shows it.

    Args:
        index: its number, the same in all analyses of one revision.
        path: the file, or the cell of the notebook, that it is in.
        rerun: whether it happens only when a cell is run again.
        behind: whether an error comes before it, which has to be mended first.
    """

    index: int = field(compare=False, repr=False)
    path: str
    code: str
    name: str
    severity: str
    message: str
    place: Place
    related: tuple[RelatedView, ...]
    expected: str | None
    tags: tuple[str, ...]
    url: str | None
    rerun: bool = False
    behind: bool = False


@dataclass(frozen=True, slots=True)
class EditView:
    """A replacement of text in one file."""

    path: str
    place: Place
    new_text: str


@dataclass(frozen=True, slots=True)
class FixView:
    """A fix for the finding number `finding`; `safe` says that it cannot change what the program computes."""

    finding: int
    title: str
    safe: bool
    preferred: bool
    edits: tuple[EditView, ...]

    @property
    def label(self) -> str:
        """The title, with a warning where one is due."""
        return self.title if self.safe else f"{self.title} (may change results)"


@dataclass(frozen=True, slots=True)
class RewriteView:
    """A refactoring: a title and its edits."""

    title: str
    edits: tuple[EditView, ...]


@dataclass(frozen=True, slots=True)
class RuleView:
    """A rule's page: its text is markdown."""

    code: str
    name: str
    text: str
    url: str | None


@dataclass(frozen=True, slots=True)
class TracebackView:
    """What a traceback means.

    Args:
        cause: the kind of error, as `gradsense explain` names it.
        code: the rule that tells its story, where it is known which.
        markdown: all there is to say.
        path: the file or cell of `place`.
        place: the line to change or, where it is not known, the line that failed; None where its file is not here.
        fixes: what mends it.
    """

    cause: str
    code: str | None
    title: str
    markdown: str
    path: str
    place: Place | None
    fixes: tuple[FixView, ...]


# Requests. Each says whether it makes way for others: whether the worker drops it, with `Interrupted` for a reply, when
# the next one comes.


class Stage(IntEnum):
    """How far an analysis goes.

    Each is an answer to show: of what was not looked at again yet, it holds what was found before, moved with its
    lines.
    """

    PEEK = 0
    """One path of everything; if that takes too long, what surely raises as far as it was run: what a person gets who
    opens a program."""
    GLANCE = 1
    """One path of the function that was edited, if that is quick: what a keystroke gets."""
    LOOK = 2
    """One path of everything that may have changed."""
    WHOLE = 3
    """Everything."""


@dataclass(frozen=True, slots=True)
class Analyse:
    """Asks for the findings of a document.

    Args:
        path: the name that the document goes by in findings.
        text: all of it; empty for a notebook.
        revision: the number that names this state of the text in later requests.
        encoding: the unit in which the client counts characters.
        root: the workspace folder that holds the document, or None.
        overrides: the editor's settings by their names in `pyproject.toml`; they go on top of the file's.
        cells: the Python cells of a notebook in document order; None for a file.
        stage: how far to go.
    """

    yields: ClassVar[bool] = True

    path: str
    text: str
    revision: int
    encoding: Encoding
    root: str | None
    overrides: Mapping[str, Any]
    cells: tuple[CellText, ...] | None = None
    stage: Stage = Stage.WHOLE


@dataclass(frozen=True, slots=True)
class FindFixes:
    """Asks for the fixes of some findings of an analysis."""

    yields: ClassVar[bool] = False

    path: str
    revision: int
    findings: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FixAll:
    """Asks for the edits that mend every finding that has a safe fix, of one code or (None) of all.

    Args:
        cell: the name of the cell of a notebook that alone may be looked at and changed; None for all of them.
    """

    yields: ClassVar[bool] = False

    path: str
    revision: int
    code: str | None
    cell: str | None = None


@dataclass(frozen=True, slots=True)
class Explain:
    """Asks for a rule's page."""

    yields: ClassVar[bool] = False

    code: str


@dataclass(frozen=True, slots=True)
class ExplainText:
    """Asks what a pasted traceback means.

    Args:
        text: as it was pasted.
        path: the open program that it belongs to, or None where that is not known.
        roots: the workspace's folders, the likeliest first.
        encoding: the unit in which the client counts characters.
    """

    yields: ClassVar[bool] = False

    text: str
    path: str | None
    roots: tuple[str, ...]
    encoding: Encoding


@dataclass(frozen=True, slots=True)
class Forget:
    """Says that a document was closed: the file on disk counts again."""

    yields: ClassVar[bool] = False

    path: str


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """Says that files changed on disk."""

    yields: ClassVar[bool] = False

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindRewrites:
    """Asks how what writes in place on some lines can be written without.

    Args:
        name: the cell of a notebook that is asked about; None for a file.
        first_line, last_line: as the protocol counts them, the last one included.
    """

    yields: ClassVar[bool] = False

    path: str
    revision: int
    name: str | None
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class DescribeTensor:
    """Asks what the books say of the tensor at a position.

    Args:
        name: the cell of a notebook that is asked about; None for a file.
    """

    yields: ClassVar[bool] = False

    path: str
    revision: int
    name: str | None
    line: int
    character: int


@dataclass(frozen=True, slots=True)
class FindInlays:
    """Asks for the short texts behind some lines, counted as the protocol does, the last one included.

    Args:
        name: the cell of a notebook that is asked about; None for a file.
    """

    yields: ClassVar[bool] = False

    path: str
    revision: int
    name: str | None
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class FindLenses:
    """Asks where a step can be run."""

    yields: ClassVar[bool] = False

    path: str
    revision: int


@dataclass(frozen=True, slots=True)
class Silence:
    """Asks for the edit that ignores a rule in a project.

    Args:
        open_texts: the settings files that are open, by path.
    """

    yields: ClassVar[bool] = False

    path: str
    revision: int
    code: str
    open_texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ListFiles:
    """Asks which files a folder of the workspace holds for us."""

    yields: ClassVar[bool] = False

    root: str
    overrides: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CheckFile:
    """Asks for the findings of a file on disk.

    Args:
        megabytes: how large it may be.
    """

    yields: ClassVar[bool] = False

    path: str
    encoding: Encoding
    root: str | None
    overrides: Mapping[str, Any]
    megabytes: float


@dataclass(frozen=True, slots=True)
class Learn:
    """Tells the analysis all that is known of names of other packages.

    Args:
        root: the folder of the workspace that this holds for.
        known: the answers by name.
    """

    yields: ClassVar[bool] = False

    root: str
    known: Mapping[str, Known]


About = FindFixes | FixAll | FindRewrites | Silence | FindInlays | FindLenses | DescribeTensor
"""Requests about one state of an open program."""

Request = About | Analyse | Explain | ExplainText | Forget | FilesChanged | ListFiles | CheckFile | LookUp | Learn

# Replies


@dataclass(frozen=True, slots=True)
class Analysis:
    """The findings of one state of a document.

    Args:
        notes: what a person reading the log may want to know, such as what was cut.
        problems: settings that could not be used; each is shown to the person once.
        seconds: how long it took.
        reached: how far it went, which may be farther than was asked for.
        questions: names of other packages that it would be better for knowing more about.
    """

    path: str
    revision: int
    findings: tuple[FindingView, ...]
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    seconds: float
    reached: Stage = Stage.WHOLE
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A newer request came in between; what was found until then is kept for the next time."""


@dataclass(frozen=True, slots=True)
class Fixes:
    """The fixes asked for, each finding's own in order, the preferred one first.

    Args:
        suppressions: for each finding asked for, the fix that silences it on its line.
    """

    fixes: tuple[FixView, ...]
    suppressions: tuple[FixView, ...]


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits that were asked for, against the revision that was asked about."""

    edits: tuple[EditView, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A rule's page, or None where no rule has that code."""

    rule: RuleView | None


@dataclass(frozen=True, slots=True)
class Explained:
    """What a traceback means, or None where no error about gradients is in the text."""

    found: TracebackView | None


@dataclass(frozen=True, slots=True)
class Rewrites:
    """The refactorings that were asked for."""

    rewrites: tuple[RewriteView, ...]


@dataclass(frozen=True, slots=True)
class InlayView:
    """A short text behind a position."""

    line: int
    character: int
    label: str


@dataclass(frozen=True, slots=True)
class Inlays:
    """The short texts that were asked for."""

    inlays: tuple[InlayView, ...]


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A loop or cell that can be run; `path` is the file, or the notebook's cell."""

    path: str
    place: Place


@dataclass(frozen=True, slots=True)
class Lenses:
    """Where a step can be run."""

    places: tuple[RunPlace, ...]


@dataclass(frozen=True, slots=True)
class TensorBooks:
    """What the books say of a tensor.

    Args:
        name: as it is written at the place.
        kind: what it is, in a few words.
        facts: one line each.
    """

    name: str
    place: Place
    kind: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectEdit:
    """The edit of a settings file, which has to be created first if it is `new`."""

    path: str
    new: bool
    edits: tuple[EditView, ...]


@dataclass(frozen=True, slots=True)
class FileList:
    """The files of a folder."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The findings of a file on disk, and the files of the workspace that it imports."""

    analysis: Analysis
    imports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing to say."""


@dataclass(frozen=True, slots=True)
class Stale:
    """The worker holds no analysis of the revision that was asked about."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The request raised: the error in one line, and its traceback for the log."""

    error: str
    traceback: str


Reply = (
    Analysis
    | Interrupted
    | Fixes
    | Edits
    | Page
    | Explained
    | Done
    | Stale
    | Failed
    | FileList
    | CheckedFile
    | Rewrites
    | ProjectEdit
    | TensorBooks
    | Inlays
    | Lenses
    | LookedUp
)
