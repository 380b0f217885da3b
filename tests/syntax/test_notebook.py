"""Notebooks on disk: reading them, and writing edits back without touching anything else."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradsense.syntax import Source, SourceError, Span, TextEdit, parse
from gradsense.syntax.notebook import apply_edits, read_cells


def code(*lines: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": list(lines), **more}


def notebook(*cells: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def written(content: object, **options: Any) -> bytes:
    return (json.dumps(content, **{"indent": 1, "ensure_ascii": False, **options}) + "\n").encode()


MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]}
BOOK = notebook(
    MARKDOWN,
    code("x = 1\n", "y = 'é'"),
    code("%time loss.backward()"),
    code(),
    code("z = 3\n"),
    {"cell_type": "raw", "source": "no"},
)


def edit(*place: int, new: str = "") -> TextEdit:
    return TextEdit("a.ipynb", Span(*place), new)


def changed(data: bytes, *edits: TextEdit) -> list[str]:
    """The code cells after edits; fails if anything else changed."""
    result = apply_edits("a.ipynb", data, edits)
    before, after = json.loads(data), json.loads(result)
    assert len(before["cells"]) == len(after["cells"])
    for old, new in zip(before["cells"], after["cells"], strict=True):
        assert isinstance(old["source"], type(new["source"]))
        assert {**old, "source": 0} == {**new, "source": 0}
    return [text for _, text in read_cells("a.ipynb", result)]


def test_code_cells_in_order_with_their_index() -> None:
    assert read_cells("a.ipynb", written(BOOK)) == [
        (1, "x = 1\ny = 'é'"),
        (2, "%time loss.backward()"),
        (3, ""),
        (4, "z = 3\n"),
    ]


def test_a_notebook_is_one_program() -> None:
    source = Source.from_notebook("a.ipynb", written(BOOK))
    assert ast.unparse(parse(source).tree) == "x = 1\ny = 'é'\nloss.backward()\nz = 3"
    assert source.cell_at(3) == (2, 1)
    call = parse(source).tree.body[2]
    assert source.span_of(call) == Span(3, 6, 3, 21)
    assert source.cells[1].text == "%time loss.backward()"


@pytest.mark.parametrize("source", ["x = 1\ny = 2", ["x = 1\n", "y = 2"], ["x = 1\ny = 2"]])
def test_a_source_is_text_or_lines(source: object) -> None:
    assert read_cells("a.ipynb", written(notebook(code(source=source)))) == [(0, "x = 1\ny = 2")]


def test_old_formats_have_worksheets() -> None:
    cells = [{"cell_type": "code", "language": "python", "input": ["x = 1"]}, {"cell_type": "heading", "source": "h"}]
    other = [
        {"cell_type": "code", "language": "python", "input": "y = 2"},
        {"cell_type": "code", "language": "R", "input": "z"},
    ]
    book = {"nbformat": 3, "metadata": {"name": "a"}, "worksheets": [{"cells": cells}, {"cells": other}]}
    data = written(book)
    assert read_cells("a.ipynb", data) == [(0, "x = 1"), (2, "y = 2")]
    result = apply_edits("a.ipynb", data, [edit(2, 4, 2, 5, new="3")])
    assert read_cells("a.ipynb", result) == [(0, "x = 1"), (2, "y = 3")]


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"kernelspec": {"name": "my-env", "language": "python", "display_name": "x"}},
        {"language_info": {"name": "python", "version": "3.9"}},
        {"kernelspec": {"name": "python3"}},
        {"kernelspec": "odd", "language_info": 3},
    ],
)
def test_python_notebooks(metadata: dict[str, Any]) -> None:
    assert read_cells("a.ipynb", written(notebook(code("x"), **metadata))) == [(0, "x")]


def test_cells_in_another_language_are_not_read() -> None:
    other = code("SELECT 1", metadata={"vscode": {"languageId": "sql"}})
    assert read_cells("a.ipynb", written(notebook(other, code("x")))) == [(1, "x")]


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_a_notebook_never_saved_is_empty(data: bytes) -> None:
    assert Source.from_notebook("a.ipynb", data).text == ""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "line 1 is not JSON"),
        (b'{"cells": [\n<<<<<<< HEAD\n', "line 2 is not JSON"),
        (b"[]", "holds no object"),
        (b"{}", "has no cells"),
        (b'{"cells": 3}', "not a list"),
        (b'{"cells": [3]}', "cell 0 is not an object"),
        (b'{"worksheets": [3]}', "not a list"),
        (b'{"cells": [{"cell_type": "code", "source": 3}]}', "source of its cell 0"),
        (b'{"cells": [{"cell_type": "code", "source": [3]}]}', "source of its cell 0"),
        (b'{"cells": "\xff"}', "not a Jupyter notebook"),
        (b'{"cells":' * 100_000, "not a Jupyter notebook"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
        (written(notebook(code("x"), language_info={"name": "R"})), "notebook in R"),
        (written(notebook(code("x"), kernelspec={"language": "julia"})), "notebook in julia"),
    ],
)
def test_what_is_no_python_notebook(data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        Source.from_notebook("dir/a.ipynb", data)
    assert "dir/a.ipynb" in str(caught.value)


LAYOUTS: dict[str, dict[str, Any]] = {
    "jupyter": {},
    "compact": {"indent": None, "separators": (",", ":")},
    "wide": {"indent": 4},
    "escaped": {"ensure_ascii": True},
    "tabs": {"indent": "\t"},
}


@pytest.mark.parametrize("options", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_only_the_changed_lines_change(options: dict[str, Any]) -> None:
    data = written(BOOK, **options)
    result = apply_edits("a.ipynb", data, [edit(1, 4, 1, 5, new="10")])
    assert result == data.replace(b"x = 1", b"x = 10")


@pytest.mark.parametrize("options", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_new_lines_are_laid_out_like_the_others(options: dict[str, Any]) -> None:
    result = apply_edits("a.ipynb", written(BOOK, **options), [edit(2, 0, 2, 0, new="w = 'ü'\n")])
    book = json.loads(written(BOOK))
    book["cells"][1]["source"] = ["x = 1\n", "w = 'ü'\n", "y = 'é'"]
    assert result == written(book, **options)


def test_nothing_to_do_changes_no_byte() -> None:
    data = b' {"cells" : [ {"source":["x"] , "cell_type":"code"}\r\n], "metadata":{}}  '
    assert apply_edits("a.ipynb", data, []) == data
    assert apply_edits("a.ipynb", data, [edit(1, 0, 1, 1, new="y")]) == data.replace(b'"x"', b'"y"')


def test_a_byte_order_mark_stays() -> None:
    data = b"\xef\xbb\xbf" + written(BOOK)
    assert apply_edits("a.ipynb", data, [edit(1, 4, 1, 5, new="2")]) == data.replace(b"x = 1", b"x = 2")


def test_a_source_that_is_one_string_stays_one() -> None:
    data = written(notebook(code(source="x = 1\ny = 2")))
    assert changed(data, edit(2, 0, 2, 1, new="z")) == ["x = 1\nz = 2"]


def test_unusual_escapes_of_unchanged_lines_stay() -> None:
    data = b'{"cells": [{"cell_type": "code", "source": ["a = \\"\\u00e9\\/\\"\\n", "b"]}]}'
    assert apply_edits("a.ipynb", data, [edit(2, 0, 2, 1, new="c")]) == data.replace(b'"b"', b'"c"')


def test_edits_of_several_cells() -> None:
    edits = [edit(5, 0, 5, 5, new="w = 4"), edit(1, 0, 1, 1, new="a"), edit(2, 0, 2, 1, new="b")]
    assert changed(written(BOOK), *edits) == ["a = 1\nb = 'é'", "%time loss.backward()", "", "w = 4\n"]


def test_a_statement_behind_a_magic_can_change() -> None:
    assert changed(written(BOOK), edit(3, 20, 3, 20, new="retain_graph=True"))[1] == (
        "%time loss.backward(retain_graph=True)"
    )
    assert changed(written(BOOK), edit(3, 0, 3, 0, new="a = 1\n"))[1] == "a = 1\n%time loss.backward()"


def test_an_empty_cell_can_be_filled() -> None:
    assert changed(written(BOOK), edit(4, 0, 4, 0, new="a\nb"))[2] == "a\nb"


def test_a_cell_can_be_emptied() -> None:
    assert changed(written(BOOK), edit(1, 0, 2, 7))[0] == ""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (edit(1, 0, 2, 0), "y = 'é'"),
        (edit(2, 0, 3, 0), "x = 1"),
        (edit(1, 0, 3, 0), ""),
        (edit(2, 0, 3, 0, new="z = 2\n"), "x = 1\nz = 2"),
        (edit(2, 4, 3, 0, new="2\n"), "x = 1\ny = 2"),
    ],
)
def test_whole_lines_up_to_the_next_cell(change: TextEdit, expected: str) -> None:
    assert changed(written(BOOK), change) == [expected, "%time loss.backward()", "", "z = 3\n"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit(2, 0, 3, 2), "another cell"),
        (edit(1, 0, 4, 0), "another cell"),
        (edit(3, 0, 3, 8, new="x"), "touches a magic"),
        (edit(3, 6, 3, 21, new="if x:\n    loss.backward()"), "break the line of a magic"),
        (edit(99, 0, 99, 0), "in no cell"),
        (edit(1, 50, 1, 50), "column 50"),
    ],
)
def test_edits_that_cannot_be_made(change: TextEdit, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        apply_edits("a.ipynb", written(BOOK), [change])


def test_overlapping_edits() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("a.ipynb", written(BOOK), [edit(1, 0, 1, 3), edit(1, 1, 1, 2)])


def test_a_cell_without_a_source() -> None:
    data = b'{"cells": [{"cell_type": "code"}]}'
    assert read_cells("a.ipynb", data) == [(0, "")]
    with pytest.raises(ValueError, match="no source"):
        apply_edits("a.ipynb", data, [edit(1, 0, 1, 0, new="x")])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.lists(st.tuples(st.text(alphabet='xé\n"\\ 🔥\u2028', max_size=12), JSON, st.booleans()), min_size=1, max_size=4),
    st.sampled_from(list(LAYOUTS.values())),
    st.data(),
)
def test_any_cell_of_any_notebook(cells: list[tuple[str, object, bool]], options: dict[str, Any], data: Any) -> None:
    book = notebook(
        *(code(source=text.splitlines(keepends=True) if lines else text, outputs=extra) for text, extra, lines in cells)
    )
    raw = written(book, **options)
    index = data.draw(st.integers(0, len(cells) - 1))
    source = Source.from_notebook("a.ipynb", raw)
    cell = source.cells[index]
    line = data.draw(st.integers(cell.first_line, cell.last_line))
    column = data.draw(st.integers(0, len(source.lines[line - 1])))
    new = data.draw(st.text(alphabet='ab\n"é', max_size=5))
    result = changed(raw, edit(line, column, line, column, new=new))
    expected = [text for text, _, _ in cells]
    place = Source("", expected[index]).offset(line - cell.first_line + 1, column)
    expected[index] = expected[index][:place] + new + expected[index][place:]
    assert result == expected
