"""What each output format writes for the same findings."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from cli.making import finding, replacing
from gradsense.cli.commands.check import FORMATS
from gradsense.cli.formats import write
from gradsense.cli.result import Message, Result
from gradsense.rules.finding import Severity
from gradsense.syntax import Source

PROGRAM = """\
h = torch.sigmoid(gate(x))
h += skip(x)

loss = h.sum()
loss.backward()
"""
EXPECTED = "RuntimeError: one of the variables needed for gradient computation has been modified"


def written(name: str, result: Result) -> str:
    out = io.StringIO()
    write(name, result, out)
    return out.getvalue()


def one(path: str = "train.py") -> Result:
    source = Source.from_text(path, PROGRAM)
    found = finding(
        source,
        "h += skip(x)",
        replacing(source, "h += skip(x)", "h = h + skip(x)", title="Write `h = h + skip(x)`"),
        replacing(source, "gate(x)", "gate(x).clone()", title="Clone", unsafe=True),
        message="`h` is written in place, but `sigmoid` saved it",
        related=(("torch.sigmoid(gate(x))", "saved here"), ("loss.backward()", "needed here")),
        expected=EXPECTED,
    )
    return Result([found], {path: source}, checked=1)


def test_full_shows_the_story() -> None:
    assert (
        written("full", one())
        == f"""\
train.py:2:1 error GS201 inplace-on-saved
  `h` is written in place, but `sigmoid` saved it

  1 | h = torch.sigmoid(gate(x))
    |     ---------------------- saved here
  2 | h += skip(x)
    | ^^^^^^^^^^^^
...
  5 | loss.backward()
    | --------------- needed here

  torch {EXPECTED}
  fix   Write `h = h + skip(x)` (--fix)
  fix   Clone (may change results: --unsafe-fixes)
  help  gradsense rule GS201

Found 1 error in 1 of 1 file.
--fix can mend 1 of them.
"""
    )


def snippet(result: Result) -> list[str]:
    return [line for line in written("full", result).splitlines() if "|" in line or line.strip() in ("...", ">")]


@pytest.mark.parametrize(
    ("text", "marked", "lines"),
    [
        ("x = '日本語'; y.add_(1)\n", "y.add_(1)", ["  1 | x = '日本語'; y.add_(1)", "    |               ^^^^^^^^^"]),
        ("x = '😀'; y.add_(1)\n", "y.add_(1)", ["  1 | x = '😀'; y.add_(1)", "    |           ^^^^^^^^^"]),
        ("\ty.add_(1)\n", "y.add_(1)", ["  1 |     y.add_(1)", "    |     ^^^^^^^^^"]),
        ("if a:\ty\n", "y", ["  1 | if a:   y", "    |         ^"]),
        ("e\u0301 = y\n", "y", ["  1 | e\u0301 = y", "    |     ^"]),
        ("f(a,\n  b,\n\n  c)\n", "f(a,\n  b,\n\n  c)",
         ["  1 | f(a,", "    | ^^^^", "  2 |   b,", "    |   ^^", "  3 |", "  4 |   c)", "    |   ^^"]),
        ("x\x1b[31m = y\n", "y", ["  1 | x\ufffd[31m = y", "    |          ^"]),
    ],
)  # fmt: skip
def test_the_squiggle_is_under_the_expression(text: str, marked: str, lines: list[str]) -> None:
    source = Source.from_text("a.py", text)
    assert snippet(Result([finding(source, marked)], {"a.py": source})) == lines


def test_a_span_at_the_end_of_the_file_and_a_span_past_it_are_drawn() -> None:
    source = Source.from_text("a.py", "x = y")
    assert snippet(Result([finding(source, "")], {"a.py": source})) == ["  1 | x = y", "    | ^"]


def test_a_very_long_line_is_cut_around_the_mark() -> None:
    source = Source.from_text("a.py", "x = [" + "0, " * 300 + "y.add_(1), " + "0, " * 300 + "]\n")
    code, marks = snippet(Result([finding(source, "y.add_(1)")], {"a.py": source}))
    assert len(code) < 260
    at = marks.index("^")
    assert code[at : at + 9] == "y.add_(1)"
    assert marks.count("^") == 9


def test_a_long_span_shows_its_first_lines() -> None:
    text = "with a:\n" + "    f()\n" * 20
    source = Source.from_text("a.py", text)
    assert len(snippet(Result([finding(source, text.strip())], {"a.py": source}))) == 8


def test_a_story_in_another_file_is_shown_under_its_name() -> None:
    result = one()
    other = Source.from_text("model.py", "def forward(x):\n    return x.exp()\n")
    result.sources["model.py"] = other
    [first] = result.findings
    elsewhere = finding(other, "x.exp()", related=(("x.exp()", "saved over there"),))
    first.related = (*elsewhere.related, *first.related)
    text = written("full", result)
    assert "    > model.py\n  2 |     return x.exp()\n    |            ------- saved over there\n" in text


def notebook() -> Result:
    cells = [(1, "import torch"), (4, "%time x = 1\nloss.backward()\nlosses.append(loss)")]
    source = Source.from_cells("a.ipynb", cells)
    found = finding(
        source,
        "losses.append(loss)",
        replacing(source, "losses.append(loss)", "losses.append(loss.item())"),
        code="GS302",
        name="graph-kept",
        severity=Severity.WARNING,
        related=(("import torch", "far away"), ("loss.backward()", "walked here")),
    )
    return Result([found], {"a.ipynb": source}, checked=1)


def test_notebooks_are_shown_by_cell_with_their_magics() -> None:
    text = written("full", notebook())
    assert "a.ipynb:cell 5:3:1 warning GS302" in text
    assert "  2 | loss.backward()\n    | --------------- walked here\n  3 | losses.append(loss)\n" in text
    assert "    > a.ipynb:cell 2\n  1 | import torch\n" in text
    [row] = json.loads(written("json", notebook()))
    assert (row["cell"], row["line"], row["column"], row["endLine"], row["endColumn"]) == (4, 3, 0, 3, 19)
    assert [(r["cell"], r["line"]) for r in row["related"]] == [(1, 1), (4, 2)]
    assert row["fixes"][0]["edits"][0]["cell"] == 4
    assert "line=" not in written("github", notebook())
    assert "a.ipynb:cell 5:3:1: warning: " in written("concise", notebook())


def test_concise_is_one_line_that_editors_take_apart() -> None:
    result = one()
    result.findings[0].message = "two\n  lines"
    assert written("concise", result) == "train.py:2:1: error: two lines [GS201]\n"


def test_json_has_what_scripts_rely_on() -> None:
    assert json.loads(written("json", one())) == [
        {
            "path": "train.py",
            "code": "GS201",
            "name": "inplace-on-saved",
            "severity": "error",
            "message": "`h` is written in place, but `sigmoid` saved it",
            "line": 2,
            "column": 0,
            "endLine": 2,
            "endColumn": 12,
            "expected": EXPECTED,
            "related": [
                {"path": "train.py", "line": 1, "column": 4, "endLine": 1, "endColumn": 26, "message": "saved here"},
                {"path": "train.py", "line": 5, "column": 0, "endLine": 5, "endColumn": 15, "message": "needed here"},
            ],
            "fixes": [
                {
                    "title": "Write `h = h + skip(x)`",
                    "applicability": "safe",
                    "preferred": True,
                    "edits": [
                        {
                            "path": "train.py",
                            "line": 2,
                            "column": 0,
                            "endLine": 2,
                            "endColumn": 12,
                            "newText": "h = h + skip(x)",
                        }
                    ],
                },
                {
                    "title": "Clone",
                    "applicability": "unsafe",
                    "preferred": True,
                    "edits": [
                        {
                            "path": "train.py",
                            "line": 1,
                            "column": 18,
                            "endLine": 1,
                            "endColumn": 25,
                            "newText": "gate(x).clone()",
                        }
                    ],
                },
            ],
        }
    ]


def test_json_of_nothing_is_an_empty_list() -> None:
    assert json.loads(written("json", Result())) == []


def test_github_escapes_what_its_commands_are_made_of() -> None:
    result = one("odd,na:me.py")
    result.findings[0].message = "100 %\nsure, or: not"
    result.findings[0].related = ()
    result.findings[0].expected = None
    result.failures.append(Message("gone.py", None, "no such file"))
    assert written("github", result) == (
        "::error title=GS201 inplace-on-saved,file=odd%2Cna%3Ame.py,line=2,endLine=2,col=1,endColumn=13"
        "::100 %25%0Asure, or: not\n"
        "::error title=gradsense,file=gone.py::no such file\n"
    )


def test_github_names_files_from_the_top_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ",file=src/train.py," in written("github", one(str(tmp_path / "src" / "train.py")))


def sarif(result: Result) -> Any:
    return json.loads(written("sarif", result))


def test_sarif_has_the_required_structure() -> None:
    result = one()
    result.notes.append(Message("train.py", 4, "line 4 was left out"))
    log = sarif(result)
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    driver = run["tool"]["driver"]
    assert driver["name"] == "GradSense"
    [found] = run["results"]
    assert driver["rules"][found["ruleIndex"]]["id"] == found["ruleId"] == "GS201"
    assert found["level"] == "error"
    assert EXPECTED in found["message"]["text"]
    assert found["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "train.py"},
        "region": {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 13},
    }
    assert [(r["id"], r["message"]["text"]) for r in found["relatedLocations"]] == [
        (0, "saved here"),
        (1, "needed here"),
    ]
    [change] = found["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 13},
            "insertedContent": {"text": "h = h + skip(x)"},
        }
    ]
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "line 4 was left out"


def test_sarif_says_that_a_run_failed() -> None:
    [run] = sarif(Result(failures=[Message("gone.py", None, "no such file")]))["runs"]
    assert not run["invocations"][0]["executionSuccessful"]
    assert run["results"] == []


def test_sarif_writes_paths_as_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def uri(path: str) -> str:
        location = sarif(one(path))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        return str(location["artifactLocation"]["uri"])

    assert uri("a b/ü.py") == "a%20b/%C3%BC.py"
    assert uri(str(tmp_path / "in.py")) == "in.py"
    assert uri(str(tmp_path.parent / "out.py")).startswith("file:///")


def test_sarif_names_cells_and_offers_no_text_edits_of_notebooks() -> None:
    [found] = sarif(notebook())["runs"][0]["results"]
    [location] = found["locations"]
    assert "region" not in location["physicalLocation"]
    assert location["logicalLocations"][0]["name"] == "cell 5, line 3"
    assert "fixes" not in found


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_written_in_ascii(name: str) -> None:
    source = Source.from_text("ü.py", "größe += '😀'\n")
    result = Result([finding(source, "größe += '😀'", message="größe 😀")], {"ü.py": source}, checked=1)
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", errors="replace")
    write(name, result, out)
    out.flush()
    assert raw.getvalue()
    if name == "full":
        assert b"  1 | gr??e += '?'\n    | ^^^^^^^^^^^^\n" in raw.getvalue()
