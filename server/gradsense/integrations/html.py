"""A run's report as HTML that stands by itself: in any notebook, light or dark, with all text of the user's escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

from gradsense.cli.formats.run_full import Surroundings
from gradsense.cli.formats.run_texts import Texts
from gradsense.cli.terminal import clean
from gradsense.run import words
from gradsense.run.report import Frame, Pass, Report
from gradsense.run.story import Part, story

# Styles stand in the elements: many notebooks drop style sheets. Colours are mixed with what is there, for dark themes.
_RED, _YELLOW, _GREEN, _BLUE = "#d1242f", "#b58900", "#1a7f37", "#4078c0"
_COLORS = {"raises": _RED, "nan": _RED, "grows": _YELLOW, "clean": _GREEN, "failed": _RED, "timeout": _YELLOW}
_MONO = "font-family:var(--jp-code-font-family,monospace);font-size:90%"
_TABLE = "border-collapse:collapse;color:inherit"
_LEFT = "text-align:left;padding:1px 10px 1px 0"
_CONTEXT = 1


def page(report: Report, texts: Texts, around: Surroundings, *, whole: bool) -> str:
    """The page.

    Args:
        report: what the run found out.
        texts: the files that it speaks of.
        around: what it is shown with.
        whole: whether tracebacks are open, and with the lines of torch and other libraries.
    """
    parts = story(report)
    content = [
        _head(report, texts, parts),
        *_story(report, parts, texts),
        _passes(report.passes, texts),
        _facts(report, texts, around),
        _traceback("Forward traceback", report.forward_traceback, texts, whole),
        _traceback("Backward traceback", report.backward_traceback, texts, whole),
    ]
    return _element("div", "".join(content), f"border-left:4px solid {_color(report)};padding:4px 12px")


def _head(report: Report, texts: Texts, parts: Sequence[Part]) -> str:
    main = next((part for part in parts if part.main), None)
    where = texts.where(main.path, main.line) if main else ""
    wrong = report.silent and report.outcome == "clean"
    outcome = _element("b", "wrong gradients" if wrong else report.outcome, f"color:{_color(report)}")
    head = _element("div", f"<b>GradSense</b> {_text(where)} {outcome}", "font-size:105%")
    return head + "".join(_element("div", _text(line), "margin:4px 0") for line in words.headline(report).splitlines())


def _story(report: Report, parts: Sequence[Part], texts: Texts) -> Iterator[str]:
    """The lines of the story with what happened at each, file by file."""
    files: dict[str, dict[int, list[Part]]] = {}
    for part in parts:
        files.setdefault(part.path, {}).setdefault(part.line, []).append(part)
    for path, lines in files.items():
        rows: list[str] = []
        shown = 0
        for line in sorted(lines):
            if shown and line - _CONTEXT > shown + 1:
                rows.append(_row("…", ""))
            first = max(shown + 1, line - _CONTEXT) if shown else line
            rows.extend(_row(str(number), texts.line(path, number)) for number in range(first, line))
            rows.append(_row(str(line), texts.line(path, line), strong=True))
            rows.extend(_remark(part, texts.line(path, line), report) for part in lines[line])
            shown = line
        title = _element("div", _text(texts.name(path)), "opacity:.7;margin-top:6px")
        yield title + _element("table", "".join(rows), f"{_TABLE};{_MONO}")


def _row(number: str, text: str, strong: bool = False) -> str:
    left = _cell(_text(number), "text-align:right;opacity:.6;padding:0 10px 0 0")
    code = _element("b", _text(text)) if strong else _text(text)
    return _element("tr", left + _cell(code, "text-align:left;white-space:pre;padding:0"), "background:none")


def _remark(part: Part, text: str, report: Report) -> str:
    indent = text[: len(text) - len(text.lstrip())]
    color = _color(report) if part.main else _BLUE
    remark = _text(indent) + _element("span", f"↑ {_text(part.text)}", f"color:{color}")
    return _element(
        "tr", _cell("") + _cell(remark, "text-align:left;white-space:pre-wrap;padding:0"), "background:none"
    )


def _passes(rows: Sequence[Pass], texts: Texts) -> str:
    if not rows:
        return ""
    columns: list[tuple[str, list[str]]] = [
        ("pass", [str(number) for number in _numbers(rows)]),
        ("line", [str(row.line) for row in rows]),
        ("nodes alive", [_bar(row.nodes, [other.nodes for other in rows]) for row in rows]),
        ("saved tensors", [_count(row.saved_tensors) for row in rows]),
        ("saved", [_size(row.saved_bytes) for row in rows]),
        ("alive after", [_size(row.alive_bytes) for row in rows]),
        ("allocated", [_size(row.allocated or None) for row in rows]),
        ("reserved", [_size(row.reserved or None) for row in rows]),
    ]
    shown = [(name, cells) for name, cells in columns if any(cells)]
    padding = "text-align:right;padding:1px 10px"
    head = "".join(_element("th", name, padding) for name, _ in shown)
    body = ("".join(_cell(cell, padding) for cell in row) for row in zip(*(cells for _, cells in shown), strict=True))
    rows_of_table = "".join(_element("tr", row) for row in body)
    return _element("table", _element("tr", head) + rows_of_table, f"{_TABLE};margin:8px 0")


def _numbers(rows: Iterable[Pass]) -> Iterator[int]:
    counts: dict[int, int] = {}
    for row in rows:
        counts[row.line] = counts.get(row.line, 0) + 1
        yield counts[row.line]


def _bar(value: int | None, values: Sequence[int | None]) -> str:
    """A number with a bar as long as it is large."""
    if value is None:
        return ""
    most = max((other for other in values if other is not None), default=0)
    width = round(60 * value / most) if most else 0
    bar = _element("span", "", f"display:inline-block;height:.7em;width:{width}px;background:{_BLUE}")
    return str(value) + _element("span", bar, "display:inline-block;width:60px;text-align:left;margin-left:6px")


def _facts(report: Report, texts: Texts, around: Surroundings) -> str:
    facts = []
    if text := words.verdict(report):
        facts.append(("memory", text))
    for holder in report.holders:
        stored = f", stored at {texts.where(holder.path, holder.line)}" if holder.path and holder.line else ""
        facts.append(("held by", f"{holder.name}{stored}"))
    if report.loss:
        facts.append(("loss", words.listed([f"{loss:.6g}" for loss in report.loss])))
    facts.append(("ran on", ", ".join(filter(None, (report.device, report.torch and f"torch {report.torch}")))))
    facts += [("note", note) for note in (*around.notes, *report.notes)]
    rows = (
        _element("tr", _cell(_element("b", name), _LEFT) + _cell(_text(text), _LEFT), "background:none")
        for name, text in facts
    )
    return _element("table", "".join(rows), _TABLE)


def _traceback(title: str, frames: Sequence[Frame], texts: Texts, whole: bool) -> str:
    """The user's frames, torch's behind a click of their own."""
    if not frames:
        return ""
    lines = []
    for frame in frames:
        where = f"{texts.where(frame.path, frame.line)} in {frame.name}" if frame.name else frame.path
        text = f"{_text(where)}\n  {_text(frame.text.strip())}"
        lines.append(_element("div", text, "" if frame.user else "opacity:.55"))
    body = _element("pre", "".join(lines), f"{_MONO};margin:4px 0;white-space:pre-wrap")
    opened = " open" if whole else ""
    return f"<details{opened}><summary>{title}, outermost first</summary>{body}</details>"


def _color(report: Report) -> str:
    return _RED if report.silent and report.outcome == "clean" else _COLORS[report.outcome]


def _count(value: int | None) -> str:
    return "" if value is None else str(value)


def _size(value: int | None) -> str:
    return "" if value is None else words.size(value)


def _text(text: str) -> str:
    return html.escape(clean(text))


def _cell(content: str, style: str = "") -> str:
    return _element("td", content, style)


def _element(name: str, content: str, style: str = "") -> str:
    return f'<{name} style="{html.escape(style)}">{content}</{name}>' if style else f"<{name}>{content}</{name}>"
