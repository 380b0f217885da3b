// No Python is found that can run the server: the person is told so, with a way out.

import { after, before, test } from "node:test";
import { Editor, PYTHON } from "./editor";
import { FOUR_FAULTS } from "./programs";

let editor: Editor;

before(async () => {
  editor = await Editor.open({
    files: { "four.py": FOUR_FAULTS },
    settings: { "gradsense.interpreter": "/nowhere/python" },
    env: { PATH: "/nowhere" },
  });
});
after(() => editor?.close());

test("a notification says what was tried, and leads to the setting", () =>
  editor.watch("no-interpreter", async () => {
    await editor.openFile("four.py");
    const notice = editor.notification("needs a CPython 3.10 or newer and found none");
    await notice.waitFor();
    await editor.notification("/nowhere/python: there is no such program").waitFor();
    await editor.shot("no-interpreter");
    await notice.getByText("Select Interpreter").click();
    await editor.page.locator(".settings-editor .setting-item-title", { hasText: "Interpreter" }).waitFor();
  }));

test("once there is one, the server starts with the window", () =>
  editor.watch("interpreter-set", async () => {
    editor.configure({ "gradsense.interpreter": PYTHON });
    await editor.page.reload();
    await editor.page.waitForSelector(".explorer-folders-view .monaco-list-row", { timeout: 60_000 });
    await editor.openFile("four.py");
    await editor.squiggle("h += self.skip(x)", "error");
  }));
