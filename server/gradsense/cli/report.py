"""What `gradsense check` tells besides the findings, and what it does to the files."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TextIO

from gradsense.cli.result import Change, Message, Result, line_place
from gradsense.cli.saving import save
from gradsense.cli.terminal import clean, console
from gradsense.syntax.edits import line_starts

_MOST_NOTES = 10
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def tell(text: str) -> None:
    """Writes a line to standard error."""
    sys.stderr.write(clean(f"gradsense: {text}") + "\n")


def write_statistics(result: Result, out: TextIO) -> None:
    """Writes how often each rule found something, the most frequent first."""
    names = {finding.code: finding.name for finding in result.findings}
    counts = Counter(finding.code for finding in result.findings)
    width = len(str(max(counts.values(), default=0)))
    for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        out.write(f"{count:>{width}}  {code}  {names[code]}\n")


def tell_problems(result: Result) -> None:
    """Says which files could not be checked, and what of the others was left out."""
    for note in result.notes[:_MOST_NOTES]:
        tell(f"{line_place(result.sources, note)}: {note.text}")
    if len(result.notes) > _MOST_NOTES:
        tell(f"and {len(result.notes) - _MOST_NOTES} more notes of this kind")
    for failure in result.failures:
        tell(f"error: {failure.text}")


def save_changes(result: Result) -> None:
    """Writes the mended files and says what was done; a file that cannot be written joins the failures."""
    for change in result.changes:
        try:
            save(change.path, change.after.data)
        except OSError as error:
            reason = f"{change.path} could not be written: {error.strerror or error}"
            result.failures.append(Message(change.path, None, reason))
        else:
            for done in change.done:
                tell(f"mended {done}")


def pass_through(result: Result, before: bytes) -> None:
    """Writes the program that came from standard input to standard output, mended or as it was."""
    for change in result.changes:
        for done in change.done:
            tell(f"mended {done}")
    sys.stdout.flush()
    sys.stdout.buffer.write(result.changes[0].after.data if result.changes else before)


def write_diff(change: Change, out: TextIO) -> None:
    """Writes a change as a unified diff, a notebook's cell by cell."""
    terminal = console(out)
    for before, after, name in _texts(change):
        for line in difflib.unified_diff(_lines(before), _lines(after), name, name):
            text = line.rstrip("\r\n")
            if terminal.is_terminal:
                terminal.print(clean(text), style=_DIFF_STYLES.get(line[:1]))
            else:
                out.write(line if len(text) < len(line) else f"{line}\n\\ No newline at end of file\n")


def _texts(change: Change) -> Iterator[tuple[str, str, str]]:
    before, after = change.before.source, change.after.source
    if not before.cells:
        yield before.text, after.text, change.path
    for old, new in zip(before.cells, after.cells, strict=True):
        if old.text != new.text:
            yield f"{old.text}\n", f"{new.text}\n", f"{change.path}:cell {old.index + 1}"


def _lines(text: str) -> list[str]:
    """The lines with their ends."""
    starts = line_starts(text)
    ends = [*starts[1:], len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True) if end > start]
