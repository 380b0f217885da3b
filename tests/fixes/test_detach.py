"""Cutting a value from its graph, by text."""

from __future__ import annotations

import pytest
from marked import Marked, on_expressions

from gradsense.fixes.detach import clone_value, detach, detach_clone, detach_structure, detached_code, undetach


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("h = «s»  # carried\n", "h = s.detach()  # carried\n"),
        ("h = «a + b»\n", "h = (a + b).detach()\n"),
        ("h = («a + b»)\n", "h = (a + b).detach()\n"),
        ("h = f((«a + b»))\n", "h = f((a + b).detach())\n"),
        ("h = f(«a + b»)\n", "h = f((a + b).detach())\n"),
        ("h = f(x=«s»)\n", "h = f(x=s.detach())\n"),
        ("h = f(*«s»)\n", "h = f(*s.detach())\n"),
        ("h = -«s»\n", "h = -s.detach()\n"),
        ("h = «-s»\n", "h = (-s).detach()\n"),
        ("h = «not s»\n", "h = (not s).detach()\n"),
        ("h = «a if b else c»\n", "h = (a if b else c).detach()\n"),
        ("h = «a and b»\n", "h = (a and b).detach()\n"),
        ("h = «a > b»\n", "h = (a > b).detach()\n"),
        ("h = «a ** b»\n", "h = (a ** b).detach()\n"),
        ("async def f():\n    h = «await s»\n", "async def f():\n    h = (await s).detach()\n"),
        ("h = «lambda: s»\n", "h = (lambda: s).detach()\n"),
        ("if (h := «s»):\n    pass\n", "if (h := s.detach()):\n    pass\n"),
        ("if («h := s»):\n    pass\n", "if ((h := s).detach()):\n    pass\n"),
        ("x = table[«s»]\n", "x = table[s.detach()]\n"),
        ("x = table[a, «s»]\n", "x = table[a, s.detach()]\n"),
        ("x = «table[0]».b\n", "x = table[0].detach().b\n"),
        ("x = «table[0].b»\n", "x = table[0].b.detach()\n"),
        ("x = «f(a)(b)»\n", "x = f(a)(b).detach()\n"),
        ("x = [«a», b]\n", "x = [a.detach(), b]\n"),
        ("x, y = «a», b\n", "x, y = a.detach(), b\n"),
        ("x = {'k': «a»}\n", "x = {'k': a.detach()}\n"),
        ("x = [«e(t)» for t in ts if t]\n", "x = [e(t).detach() for t in ts if t]\n"),
        ("print(f'{«loss»:.3f}')\n", "print(f'{loss.detach():.3f}')\n"),
        ("y = «f(x).clone()»\n", "y = f(x).clone().detach()\n"),
        ("y = «x.detach().mul(w)»\n", "y = x.detach().mul(w).detach()\n"),
        ("self.queue = torch.cat([«feats», self.queue])[: self.keep]\n",
         "self.queue = torch.cat([feats.detach(), self.queue])[: self.keep]\n"),
        ("a = 1; h = «s»; b = 2\n", "a = 1; h = s.detach(); b = 2\n"),
        ("if x: h = «s»\n", "if x: h = s.detach()\n"),
        ("for x in «xs»: pass\n", "for x in xs.detach(): pass\n"),
        ("for x in «a + b»:\n    pass\n", "for x in (a + b).detach():\n    pass\n"),
        ("for x in «a, b»:\n    pass\n", None),
        ("while f(«s»):\n    pass\n", "while f(s.detach()):\n    pass\n"),
        ("if a:\n    pass\nelif f(«s»):\n    pass\n", "if a:\n    pass\nelif f(s.detach()):\n    pass\n"),
        ("with f(«s») as t:\n    pass\n", "with f(s.detach()) as t:\n    pass\n"),
        ("@f(«s»)\ndef g(): pass\n", "@f(s.detach())\ndef g(): pass\n"),
        ("def g(a=«s»): pass\n", "def g(a=s.detach()): pass\n"),
        ("match f(«s»):\n    case _:\n        pass\n", "match f(s.detach()):\n    case _:\n        pass\n"),
        ("match x:\n    case y if f(«s»):\n        pass\n", "match x:\n    case y if f(s.detach()):\n        pass\n"),
        ("def g():\n    return «s»\n", "def g():\n    return s.detach()\n"),
        ("def g():\n    yield «s»", "def g():\n    yield s.detach()"),
    ],
)  # fmt: skip
def test_detach(before: str, after: str | None) -> None:
    assert on_expressions(before, detach) == after


@pytest.mark.parametrize(
    "already",
    [
        "h = «s.detach()»\n",
        "h = «s.detach().cpu()»\n",
        "h = «s.detach().to(device).float()»\n",
        "h = «s.data»\n",
        "h = «s.data[0]»\n",
        "h = «s.item()»\n",
        "h = «float(s)»\n",
        "h = «x.size(0)»\n",
        "h = «x.shape[0]»\n",
        "h = «len(x)»\n",
        "h = «1.0»\n",
        "h = «logits.argmax(1)»\n",
    ],
)
def test_what_has_no_graph_is_left_alone(already: str) -> None:
    assert on_expressions(already, detach) is None


@pytest.mark.parametrize(
    "no_value", ["«h» = s\n", "h = «(a, b)»\n", "h = «[a]»\n", "h = «'s'»\n", "f(«*a»)\n", "del «h»\n"]
)
def test_what_cannot_have_the_method_is_left_alone(no_value: str) -> None:
    assert on_expressions(no_value, detach) is None


def test_brackets_that_hold_a_chain_over_lines_go_on_holding_it() -> None:
    before = "h = (\n    «f(x)  # first\n    .g()»\n)\n"
    assert on_expressions(before, detach) == "h = (\n    f(x)  # first\n    .g().detach()\n)\n"


def test_an_expression_over_lines_keeps_its_layout_and_comments() -> None:
    before = "h = f(\n    «a  # left\n    + b»,  # right\n    c,\n)\n"
    assert on_expressions(before, detach) == "h = f(\n    (a  # left\n    + b).detach(),  # right\n    c,\n)\n"


def test_a_backslash_continuation_survives() -> None:
    assert on_expressions("h = a + \\\n    «b»\n", detach) == "h = a + \\\n    b.detach()\n"


def test_windows_newlines_tabs_and_characters_outside_ascii() -> None:
    before = 'if ok:\r\n\tlog("🔥 é", «h», [\r\n\t\t1,\r\n\t])\r\n'
    assert on_expressions(before, detach) == 'if ok:\r\n\tlog("🔥 é", h.detach(), [\r\n\t\t1,\r\n\t])\r\n'


def test_only_the_expression_is_touched() -> None:
    program = Marked("x  =  f( a,«b» ,c )   # odd   spaces\n")
    edits = detach(program.source, program.tree, *program.expressions())
    assert edits is not None and len(edits) == 1 and edits[0].span.is_empty and edits[0].new_text == ".detach()"


def test_several_expressions_of_one_statement() -> None:
    assert on_expressions("h, c = «h», «a * c»\n", detach) == "h, c = h.detach(), (a * c).detach()\n"


def test_one_of_several_that_is_cut_already_leaves_no_fix() -> None:
    assert on_expressions("h, c = «h», «c.detach()»\n", detach) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("out = «x»\n", "out = x.clone()\n"),
        ("out = «a + b»\n", "out = (a + b).clone()\n"),
        ("f(«self.entities.weight»)\n", "f(self.entities.weight.clone())\n"),
        ("q = a @ «self.codes»\n", "q = a @ self.codes.clone()\n"),
        ("out = «x.clone()»\n", None),
    ],
)
def test_clone_value(before: str, after: str | None) -> None:
    assert on_expressions(before, clone_value) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = «x»\n", "y = x.detach().clone()\n"),
        ("y = «x.detach()»\n", "y = x.detach().clone()\n"),
        ("y = «x.data»\n", "y = x.detach().clone()\n"),
        ("y = «(a + b).data»\n", "y = (a + b).detach().clone()\n"),
        ("y = f(«temp.alpha» * p)\n", "y = f(temp.alpha.detach().clone() * p)\n"),
        ("y = «x.clone()»\n", "y = x.clone().detach()\n"),
        ("y = «x.detach().clone()»\n", None),
        ("y = «x.clone().detach()»\n", "y = x.clone().detach().clone()\n"),
    ],
)
def test_detach_clone(before: str, after: str | None) -> None:
    assert on_expressions(before, detach_clone) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("adv = (D(«fake.detach()») - 1).mean()\n", "adv = (D(fake) - 1).mean()\n"),
        ("logits = «net(x).data»\n", "logits = net(x)\n"),
        ("y = «(a + b).detach()» * c\n", "y = (a + b) * c\n"),
        ("y = («x.detach()»)\n", "y = (x)\n"),
        ("y = «x.clone()»\n", None),
    ],
)
def test_undetach(before: str, after: str | None) -> None:
    assert on_expressions(before, undetach) == after


@pytest.mark.parametrize(
    ("before", "kinds", "after"),
    [
        ("self.h = «h»\n", ("tuple",), "self.h = tuple(s.detach() for s in h)\n"),
        ("h = «h»\n", ("list",), "h = [s.detach() for s in h]\n"),
        ("h = «h»\n", ("dict",), "h = {k: v.detach() for k, v in h.items()}\n"),
        ("h = «h»\n", ("list", "tuple"), "h = [tuple(t.detach() for t in s) for s in h]\n"),
        ("h = «h»\n", (), "h = h.detach()\n"),
        ("h = «(a, b)»\n", ("tuple",), "h = tuple(s.detach() for s in (a, b))\n"),
        ("h = «a, b»\n", ("tuple",), "h = tuple(s.detach() for s in (a, b))\n"),
        ("h = «s»\n", ("tuple",), "h = tuple(t.detach() for t in s)\n"),
        ("out = rnn(x, «self.h[0]»)\n", ("tuple",), "out = rnn(x, tuple(s.detach() for s in self.h[0]))\n"),
        ("h = «a if b else c»\n", ("tuple",), "h = tuple(s.detach() for s in (a if b else c))\n"),
        ("«h» = rnn(x)\n", ("tuple",), None),
    ],
)  # fmt: skip
def test_detach_structure(before: str, kinds: tuple[str, ...], after: str | None) -> None:
    assert on_expressions(before, detach_structure, kinds) == after


def test_a_helper_of_the_program_is_used_where_there_is_one() -> None:
    before = "out, h = rnn(x, «h»)\n"
    assert on_expressions(before, detach_structure, ("tuple",), "repackage_hidden") == (
        "out, h = rnn(x, repackage_hidden(h))\n"
    )


def test_the_text_of_a_detached_twin() -> None:
    assert detached_code("self.h", ("tuple",)) == "tuple(s.detach() for s in self.h)"
    assert detached_code("h") == "h.detach()"
    assert detached_code("h", helper="repackage_hidden") == "repackage_hidden(h)"
    assert detached_code("k", ("dict", "list")) == "{k_: [s.detach() for s in v] for k_, v in k.items()}"
