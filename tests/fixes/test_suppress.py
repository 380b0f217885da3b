"""Comments that tell GradSense to leave a line alone."""

from __future__ import annotations

import pytest
from marked import Marked

from gradsense.fixes.suppress import suppress_line
from gradsense.syntax.edits import apply_edits
from gradsense.syntax.parse import parse
from gradsense.syntax.source import Source
from gradsense.syntax.suppressions import Suppressions


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        ("a()\n", 1, "a()  # gradsense: ignore[GS301]\n"),
        ("a()", 1, "a()  # gradsense: ignore[GS301]"),
        ("a()   \n", 1, "a()  # gradsense: ignore[GS301]\n"),
        ("a()  # noqa\n", 1, "a()  # noqa  # gradsense: ignore[GS301]\n"),
        ("a()  # gradsense: ignore[GS201]\n", 1, "a()  # gradsense: ignore[GS201, GS301]\n"),
        ("a()  # gradsense: ignore[GS201, GS202,]\n", 1, "a()  # gradsense: ignore[GS201, GS202, GS301,]\n"),
        ("a()  # gradsense: ignore[ ]  # why\n", 1, "a()  # gradsense: ignore[GS301 ]  # why\n"),
        ("a()  #gradsense:ignore[GS201] why\n", 1, "a()  #gradsense:ignore[GS201, GS301] why\n"),
        ("a()  # gradsense: ignore[GS301]\n", 1, None),
        ("a()  # gradsense: ignore\n", 1, None),
        ("a()  # GradSense: ignore[gs301]\n", 1, None),
        ("a()  # gradsense: ignore-file\n", 1, None),
        ("a(\n    1,  # gradsense: ignore[GS301]\n)\n", 1, None),
        ("a('# gradsense: ignore')\n", 1, "a('# gradsense: ignore')  # gradsense: ignore[GS301]\n"),
        ("a()\r\nb()\r\n", 1, "a()  # gradsense: ignore[GS301]\r\nb()\r\n"),
        ("a(\n    1,\n)\n", 1, "a(  # gradsense: ignore[GS301]\n    1,\n)\n"),
        ("a(\n    1,\n)\n", 2, "a(\n    1,  # gradsense: ignore[GS301]\n)\n"),
        ("a = b + \\\n    c\n", 1, "a = b + \\\n    c  # gradsense: ignore[GS301]\n"),
        ("a = '''\n  text\n'''\n", 1, "a = '''\n  text\n'''  # gradsense: ignore[GS301]\n"),
        ("a('''\n  text\n''', b\n)\n", 2, "a('''\n  text\n''', b  # gradsense: ignore[GS301]\n)\n"),
        ("for x in y:\n    a()\n", 1, "for x in y:  # gradsense: ignore[GS301]\n    a()\n"),
        ("for x in f(\n    y, \\\n    z):\n    a()\n", 2,
         "for x in f(\n    y, \\\n    z):  # gradsense: ignore[GS301]\n    a()\n"),
        ("if a:\n    pass\nelif b:\n    pass\n", 3, "if a:\n    pass\nelif b:  # gradsense: ignore[GS301]\n    pass\n"),
        ("try:\n    a()\nexcept E:\n    b()\n", 4, "try:\n    a()\nexcept E:\n    b()  # gradsense: ignore[GS301]\n"),
        ("def f():\n    '''Doc\n\n    more.'''\n    b()\n", 5,
         "def f():\n    '''Doc\n\n    more.'''\n    b()  # gradsense: ignore[GS301]\n"),
        ("@a\ndef f(): pass\n", 1, "@a  # gradsense: ignore[GS301]\ndef f(): pass\n"),
        ("é = '🔥'\n", 1, "é = '🔥'  # gradsense: ignore[GS301]\n"),
    ],
)  # fmt: skip
def test_suppress_line(before: str, line: int, after: str | None) -> None:
    program = Marked(before)
    mended = program.after(suppress_line(program.source, program.tree, line, "GS301"))
    assert mended == after
    assert Suppressions.of(Source.from_text("program.py", mended or before)).hides("GS301", line)


def test_a_line_of_a_file_that_does_not_parse() -> None:
    source = Source.from_text("program.py", "a(\nb()\n")
    edits = suppress_line(source, parse(source).tree, 2, "GS301")
    assert edits is not None
    assert apply_edits(source.text, edits) == "a(\nb()  # gradsense: ignore[GS301]\n"
