"""The fixes as an editor gets them."""

from __future__ import annotations

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from lsp.editor import NEOVIM, VS_CODE, Editor, editing, span

pytestmark = pytest.mark.asyncio

URI = "file:///work/train.py"
TEXT = "x = '😀'; BAD\nok\nBAD and EXTRA\n"


async def offered(editor: Editor, place: types.Range) -> dict[str, types.CodeAction]:
    return {action.title: action for action in await editor.actions(URI, place)}


@pytest.mark.parametrize("kind", [VS_CODE, NEOVIM])
async def test_fixes_come_best_first(kind: str) -> None:
    async with editing(kind) as editor:
        editor.open(URI, TEXT)
        first, *_ = await editor.diagnostics(URI)
        actions = await editor.actions(URI, first.range, [first], only=["quickfix"])
        assert [action.title for action in actions] == [
            "Make it good",
            "Make it maybe (may change results)",
            "Fix all GS201 in this file",
            "Try on a copy and run the step: Make it good",
            "Ignore GS201 on this line",
        ]
        assert [action.is_preferred for action in actions] == [True, None, None, None, None]
        assert [found.range for found in actions[0].diagnostics or ()] == [first.range]
        editor.apply(await editor.edit_of(actions[0]))
        assert editor.texts[URI] == TEXT.replace("BAD", "GOOD", 1)
        assert len(await editor.diagnostics(URI)) == 2


async def test_a_fix_can_be_followed_by_the_next_at_once() -> None:
    async with editing(NEOVIM) as editor:
        editor.open(URI, TEXT)
        for line in (0, 2):
            actions = await editor.actions(URI, span(line, 0, line, 99), only=["quickfix"])
            editor.apply(await editor.edit_of(actions[0]))
        assert editor.texts[URI] == TEXT.replace("BAD", "GOOD")


async def test_a_diagnostic_is_known_again_wherever_the_cursor_is() -> None:
    async with editing() as editor:
        editor.open(URI, TEXT)
        first, *_ = await editor.diagnostics(URI)
        elsewhere = span(1, 0, 1, 0)
        actions = await editor.actions(URI, elsewhere, [first], only=["quickfix"])
        assert actions[0].title == "Make it good"
        first.data = {"revision": 12, "finding": 0}
        assert await editor.actions(URI, elsewhere, [first], only=["quickfix"]) == []


async def test_ignoring_on_a_line() -> None:
    async with editing() as editor:
        editor.open(URI, TEXT)
        actions = await offered(editor, span(2, 9, 2, 9))
        assert list(actions) == ["Ignore GS210 on this line", "Fix all that GradSense can fix safely"]
        editor.apply(await editor.edit_of(actions["Ignore GS210 on this line"]))
        assert "BAD and EXTRA  # gradsense: ignore[GS210]\n" in editor.texts[URI]


@pytest.mark.parametrize("kind", [VS_CODE, NEOVIM])
async def test_fixing_the_whole_file(kind: str) -> None:
    async with editing(kind) as editor:
        editor.open(URI, TEXT)
        (action,) = await editor.actions(URI, span(1, 0, 1, 0), only=["source.fixAll"])
        assert action.kind == "source.fixAll.gradsense"
        assert action.edit is None, "worked out when it is picked"
        editor.apply(await editor.edit_of(action))
        assert editor.texts[URI] == TEXT.replace("BAD", "GOOD")
        assert [found.code for found in (await editor.diagnostics(URI))][-1:] in ([], ["GS210"])


async def test_a_client_that_cannot_ask_later_gets_the_edit_at_once() -> None:
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            code_action=types.CodeActionClientCapabilities(
                code_action_literal_support=types.ClientCodeActionLiteralOptions(
                    types.ClientCodeActionKindOptions([types.CodeActionKind.QuickFix])
                )
            )
        )
    )
    async with editing(capabilities=capabilities) as editor:
        editor.open(URI, TEXT)
        actions = await offered(editor, span(0, 0, 0, 99))
        edit = actions["Fix all that GradSense can fix safely"].edit
        assert edit is not None and edit.changes is not None
        assert all(action.is_preferred is None for action in actions.values())
        editor.apply(edit)
        assert editor.texts[URI] == TEXT.replace("BAD", "GOOD")


@pytest.mark.parametrize("only", [["refactor"], ["source.organizeImports"]])
async def test_other_kinds_are_not_offered(only: list[str]) -> None:
    async with editing() as editor:
        editor.open(URI, TEXT)
        assert await editor.actions(URI, span(0, 0, 2, 0), only=only) == []


async def test_nothing_is_offered_where_nothing_is_wrong() -> None:
    async with editing() as editor:
        editor.open(URI, "fine\n")
        assert await editor.actions(URI, span(0, 0, 0, 4)) == []
        editor.rewrite(URI, TEXT)
        assert await editor.actions(URI, span(1, 0, 1, 2), only=["quickfix"]) == []


async def test_what_cannot_be_resolved_is_refused() -> None:
    async with editing() as editor:
        for data in (None, 5, {"uri": "file:///not-open.py", "code": None}):
            with pytest.raises(JsonRpcException, match="changed"):
                await editor.client.code_action_resolve_async(types.CodeAction(title="x", data=data))
