"""Sources: bytes to text, places in it, and back."""

from __future__ import annotations

import ast
import codecs
import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.syntax.programs import names_in_place

from gradsense.syntax import Cell, Source, SourceError, Span, parse

EMOJI = 'x = "🔥é"; loss.backward()\n'


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"x = 1\n", "x = 1\n", "utf-8"),
        (b"", "", "utf-8"),
        ("é = 1".encode(), "é = 1", "utf-8"),
        (codecs.BOM_UTF8 + b"x = 1", "x = 1", "utf-8"),
        (codecs.BOM_UTF16_LE + "é = 1".encode("utf-16-le"), "é = 1", "utf-16-le"),
        (codecs.BOM_UTF16_BE + "é = 1".encode("utf-16-be"), "é = 1", "utf-16-be"),
        (codecs.BOM_UTF32_LE + "é = 1".encode("utf-32-le"), "é = 1", "utf-32-le"),
        ("loss = 1\n".encode("utf-16-le"), "loss = 1\n", "utf-16-le"),
        ("loss = 1\n".encode("utf-16-be"), "loss = 1\n", "utf-16-be"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'", "# -*- coding: latin-1 -*-\nx = 'é'", "latin-1"),
        (b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'", None, "cp1252"),
        (b"# -*- coding: utf-8-unix -*-\n", None, "utf-8"),
        (b"x = 1\n# coding: cp1252\n", None, "utf-8"),
        ("# coding: shift_jis\nx = '日本'".encode("shift_jis"), "# coding: shift_jis\nx = '日本'", "shift_jis"),
    ],
)
def test_bytes_are_decoded_as_python_does_and_encode_to_the_same(data: bytes, text: str | None, encoding: str) -> None:
    source = Source.from_bytes("a.py", data)
    assert source.encoding == encoding
    if text is not None:
        assert source.text == text
    assert source.encode(source.text) == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = '\xe9'\n", "not UTF-8"),
        (b"# coding: no-such-thing\n", "no such encoding"),
        (b"# coding: rot13\n", "no such encoding"),
        (b"# coding: utf-16\nx = 1\n", "no such encoding"),
        (b"# coding: ascii\nx = '\xc3\xa9'\n", "0xc3"),
        (codecs.BOM_UTF16_LE + b"x\0=\0", "UTF-16"),
        (codecs.BOM_UTF8 + b"x = '\xff'", "0xff"),
    ],
)
def test_what_is_odd_about_the_bytes_is_a_problem(data: bytes, message: str) -> None:
    parsed = parse(Source.from_bytes("a.py", data))
    assert message in parsed.problems[0].message


def test_the_line_of_the_first_wrong_byte_is_named() -> None:
    assert Source.from_bytes("a.py", b"a\nb\n'\xe9'\n").problems[0].line == 3


@given(st.binary(max_size=200))
def test_any_bytes_become_a_source(data: bytes) -> None:
    parse(Source.from_bytes("a.py", data))


def test_a_character_that_the_encoding_lacks_is_an_error_with_advice() -> None:
    source = Source.from_bytes("a.py", b"# coding: latin-1\n")
    with pytest.raises(SourceError, match="save it as UTF-8"):
        source.encode("x = '🔥'")


def test_a_byte_order_mark_in_a_buffer_is_no_text() -> None:
    source = Source.from_text("a.py", "\ufeffx = 1")
    assert source.text == "x = 1"
    assert source.encode("y") == codecs.BOM_UTF8 + b"y"


@pytest.mark.parametrize(
    ("text", "newline", "lines"),
    [
        ("", "\n", [""]),
        ("a", "\n", ["a"]),
        ("a\nb\n", "\n", ["a", "b", ""]),
        ("a\r\nb\r\n", "\r\n", ["a", "b", ""]),
        ("a\rb", "\r", ["a", "b"]),
        ("a\r\nb\nc\r\nd", "\r\n", ["a", "b", "c", "d"]),
        ("a\x0cb\x0b\u2028c\x85d", "\n", ["a\x0cb\x0b\u2028c\x85d"]),
    ],
)
def test_lines_end_as_in_python(text: str, newline: str, lines: list[str]) -> None:
    source = Source.from_text("a.py", text)
    assert source.newline == newline
    assert source.lines == lines


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_spans_count_lines_alike_for_all_newlines(newline: str) -> None:
    source = Source.from_text("a.py", newline.join(["x = 1", "", "loss.backward(", "  retain_graph=True)", ""]))
    call = parse(source).tree.body[1]
    assert source.span_of(call) == Span(3, 0, 4, 20)
    assert source.slice(source.span_of(call)) == newline.join(["loss.backward(", "  retain_graph=True)"])


def test_columns_count_code_points() -> None:
    source = Source.from_text("a.py", EMOJI)
    statement = parse(source).tree.body[1]
    assert source.span_of(statement) == Span(1, 10, 1, 25)
    assert source.slice(source.span_of(statement)) == "loss.backward()"
    assert source.to_utf16(1, 10) == 11
    assert source.from_utf16(1, 11) == 10
    assert source.encode_column(1, 10, "utf-8") == 14
    assert source.decode_column(1, 14, "utf-8") == 10
    assert source.encode_column(1, 10, "utf-32") == 10


def test_a_column_inside_a_character_is_its_start() -> None:
    source = Source.from_text("a.py", "🔥x")
    assert [source.from_utf16(1, units) for units in range(5)] == [0, 0, 1, 2, 2]
    assert [source.decode_column(1, units, "utf-8") for units in range(7)] == [0, 0, 0, 0, 1, 2, 2]


@given(st.text(max_size=30), st.integers(0, 40), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_columns_survive_the_way_to_the_editor_and_back(text: str, column: int, encoding: str) -> None:
    source = Source("a.py", text)
    line = source.lines[0]
    units = source.encode_column(1, column, encoding)  # type: ignore[arg-type]
    width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
    wire = "utf-8" if encoding == "utf-8" else f"{encoding}-le"
    assert units == len(line[:column].encode(wire, "surrogatepass")) // width
    assert source.decode_column(1, units, encoding) == min(column, len(line))  # type: ignore[arg-type]


@given(st.text(alphabet="ab\r\n\té🔥", max_size=40), st.integers(-3, 50))
def test_offsets_and_places_are_inverse(text: str, offset: int) -> None:
    source = Source("a.py", text)
    line, column = source.place(offset)
    back = source.offset(line, column)
    clamped = max(0, min(offset, len(text)))
    assert back == clamped or text[back:clamped] == "\r"


def test_places_outside_the_text_are_clamped() -> None:
    source = Source.from_text("a.py", "ab\ncd")
    assert source.offset(0, 5) == 0
    assert source.offset(1, 99) == 2
    assert source.offset(9, 0) == 5
    assert source.encode_column(99, 3, "utf-16") == 0
    assert source.slice(Span(1, 1, 2, 1)) == "b\nc"


def test_tabs_and_form_feeds_are_one_column() -> None:
    source = Source.from_text("a.py", "\x0cif x:\n\ty = '\té';\tz = 2\n")
    names = [node for node in ast.walk(parse(source).tree) if isinstance(node, ast.Name)]
    assert {source.slice(source.span_of(name)) for name in names} == {"x", "y", "z"}


@pytest.mark.parametrize(
    "text",
    [
        "x = f'{a} é {b.c} {d!r:>{w}}'",
        "x = ('é' f'{a}' 'z'\n   f'{b} {c}')",
        "x = f'''\n{a}\n  {b}'''",
        "y = '🔥'; x = f'{a}{b}' + str(c)",
        "x = f'{{}} {a=}'",
    ],
)
def test_names_inside_f_strings_have_their_place(text: str) -> None:
    parsed = parse(Source.from_text("a.py", text))
    assert not parsed.problems
    assert not names_in_place(parsed)


def test_a_place_beyond_the_text_is_clamped() -> None:
    source = Source.from_text("a.py", "ab\n")
    node = ast.Name("x", lineno=9, col_offset=7, end_lineno=12, end_col_offset=3)
    assert source.span_of(node) == Span(2, 0, 2, 0)
    node = ast.Name("x", lineno=1, col_offset=1, end_lineno=1, end_col_offset=0)
    assert source.span_of(node) == Span(1, 1, 1, 1)


def test_a_module_spans_the_text_and_an_operator_has_no_place() -> None:
    source = Source.from_text("a.py", "a\nbc")
    assert source.span_of(ast.Module([], [])) == Span(1, 0, 2, 2)
    with pytest.raises(ValueError, match="Add"):
        source.span_of(ast.Add())


def test_cells_of_joined_text() -> None:
    source = Source.from_cells("a.ipynb", [(1, "a = 1\nb = 2"), (4, ""), (5, "c = 3\n")])
    assert source.text == "a = 1\nb = 2\n\nc = 3\n"
    assert source.cells == (Cell(1, 1, 2, "a = 1\nb = 2"), Cell(4, 3, 1, ""), Cell(5, 4, 2, "c = 3\n"))
    assert [source.cell_at(line) for line in range(7)] == [None, (1, 1), (1, 2), (4, 1), (5, 1), (5, 2), None]
    assert [source.line_in_program(*place) for place in ((1, 2), (5, 1), (5, 3), (2, 1))] == [2, 4, None, None]
    assert Source.from_text("a.py", "x").cell_at(1) is None


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        Source.from_path(tmp_path / "missing.py")
    with pytest.raises(SourceError, match="folder"):
        Source.from_path(tmp_path)
    with pytest.raises(SourceError, match="cannot read"):
        Source.from_path("nul\0byte.py")


def test_a_file_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(SourceError, match="Permission denied"):
        Source.from_path("a.py")


def test_the_path_decides_between_script_and_notebook(tmp_path: Path) -> None:
    script, notebook = tmp_path / "a.py", tmp_path / "a.ipynb"
    script.write_bytes(b"x = 1\r\n")
    notebook.write_text('{"cells": [{"cell_type": "code", "source": ["x = 2"]}]}', encoding="utf-8")
    assert Source.from_path(script).text == "x = 1\r\n"
    assert Source.from_path(str(notebook)).text == "x = 2"
