"""What a rule is: which events it speaks about, and what it says."""

from __future__ import annotations

import inspect
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar

from gradsense.fixes.fix import Applicability, Fix
from gradsense.machine.events import Event, GraphGrows
from gradsense.machine.place import Place
from gradsense.rules.finding import Finding, Related, Severity
from gradsense.rules.wording import in_cell_lines, line_of

E = TypeVar("E", bound=Event)
_log = logging.getLogger(__name__)
# torch 2.13's own words.
SECOND_TIME = (
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have"
    " already been freed). Saved intermediate values of the graph are freed when you call .backward() or"
    " autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you"
    " need to access saved tensors after calling backward."
)
NO_GRAPH = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"


def _opening(event: Event, severity: Severity) -> str:
    if event.rerun:
        rerun, shown = (p.source.cell_at(p.line) for p in (event.place, event.culprit))
        cell = "this cell" if rerun is None or shown is None or rerun[0] == shown[0] else f"cell {rerun[0] + 1}"
        return f"raises when {cell} is run again"
    if event.behind is not None:
        return f"raises {_once_mended(event, event.behind)}"
    return "raises" if severity is Severity.ERROR else "may raise"


def _once_mended(event: Event, error: Event) -> str:
    return f"once {line_of(error.culprit, event.culprit)} is mended"


class Rule(Generic[E]):
    """One code. A subclass lives in a file of its own; the file's docstring is the rule's page.

    Attributes:
        code: its stable code.
        name: its readable name.
        listens_to: the kinds of event it speaks about.
        example: a program with the fault, the first block of code under the page's `## Fails`; `mended` is the same
            without it, from under `## Mended`. Tests run both on torch.
        outcome: what torch does with the example: `raises`, `grows`, `silent` or `clean`.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    listens_to: ClassVar[type[Event] | tuple[type[Event], ...]]
    example: ClassVar[str] = ""
    mended: ClassVar[str] = ""
    outcome: ClassVar[str] = "raises"

    def __init_subclass__(cls) -> None:
        page = _page_of(cls)
        cls.example = cls.__dict__.get("example") or first_block(page, "Fails")
        cls.mended = cls.__dict__.get("mended") or first_block(page, "Mended")

    def matches(self, event: E) -> bool:
        """Whether the event is this rule's; several rules may share a kind of event."""
        return True

    def severity(self, event: E) -> Severity:
        """How certain it is, as a severity."""
        if event.raises:
            if event.caught:
                return Severity.INFORMATION
            if event.rerun:
                return Severity.WARNING if event.is_own_doing else Severity.INFORMATION
            if event.behind is not None:
                return Severity.WARNING
            return Severity.ERROR if event.certain and not event.assumed else Severity.WARNING
        return Severity.WARNING

    def message(self, event: E) -> str:
        """One or two sentences, naming the variable, the op and the lines."""
        raise NotImplementedError

    def related(self, event: E) -> Iterable[tuple[Place, str]]:
        """The other lines of the story, in reading order."""
        return ()

    def expected(self, event: E) -> str | None:
        """The text of the exception to expect."""
        return None

    def fixes(self, event: E) -> Iterator[Fix]:
        """The edits on offer, the best first. The first safe one becomes the preferred one."""
        return iter(())

    def spot(self, event: E) -> Place:
        """Where a person should edit: the squiggle."""
        return event.culprit

    def finding(self, event: E) -> Finding | None:
        """What is said about an event, or None if it is not this rule's."""
        if not self.matches(event):
            return None
        spot = self.spot(event)
        severity = self.severity(event)
        message = self.message(event)
        if event.raises and not event.caught:
            message = f"{_opening(event, severity)}: {message}"
        elif event.behind is not None:
            message = f"{_once_mended(event, event.behind)}: {message}"
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity,
            message=message,
            path=spot.path,
            span=spot.span,
            related=self._related(event, spot),
            expected=self.expected(event),
            rerun=event.rerun,
            behind=event.behind is not None,
            growth=event.nodes_per_pass if isinstance(event, GraphGrows) else None,
            tags=("unnecessary",) if severity is Severity.HINT else (),
            make_fixes=lambda: _offered(self._working(event)),
        )

    def _working(self, event: E) -> Iterator[Fix]:
        """The fixes up to one that fails: a fault of ours costs the rest of them, and not what was found."""
        carried = getattr(event, "manner", "") == "carried"
        try:
            for fix in self.fixes(event):
                if event.rerun and not carried:
                    if not any(edit.new_text.strip() for edit in fix.edits):
                        # What is walked once per run of the cell must not be walked never.
                        continue
                    fix = replace(fix, applicability=Applicability.UNSAFE)
                if event.silent:
                    # To compute something else is the point of mending what is silently wrong.
                    fix = replace(fix, applicability=Applicability.UNSAFE)
                yield replace(fix, title=in_cell_lines(fix.title, event.culprit))
        except Exception:
            _log.debug("fixes of %s at %s", self.code, event.culprit, exc_info=True)

    def _related(self, event: E, spot: Place) -> tuple[Related, ...]:
        lines: dict[tuple[str, int], Related] = {}
        own = (spot.path, spot.line)
        places = [*self.related(event), (event.place, "it surfaces here"), *event.also]
        places += [(p, "called here") for p in event.place.stack]
        for place, text in places:
            key = (place.path, place.line)
            if key != own and key not in lines and len(lines) < 16:
                lines[key] = Related(place.path, place.span, text)
        return tuple(lines.values())

    @property
    def page(self) -> str:
        """The rule's page: its file's docstring."""
        return _page_of(type(self))

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]


def first_block(page: str, heading: str) -> str:
    """The first fenced block of Python under a heading of a page, empty where there is none."""
    section = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    block = re.search(r"^```python\n(.*?)^```$", section.group(1), re.MULTILINE | re.DOTALL) if section else None
    return block.group(1) if block else ""


def _page_of(rule: type) -> str:
    return inspect.cleandoc(sys.modules[rule.__module__].__doc__ or "")


def _offered(fixes: Iterable[Fix]) -> tuple[Fix, ...]:
    """Each edit once, with the first safe one preferred."""
    by_edits: dict[object, Fix] = {}
    for fix in fixes:
        by_edits.setdefault(fix.edits, replace(fix, preferred=False))
    offered = list(by_edits.values())
    best = next((i for i, fix in enumerate(offered) if fix.applicability is Applicability.SAFE), None)
    if best is not None:
        offered[best] = replace(offered[best], preferred=True)
    return tuple(offered)
