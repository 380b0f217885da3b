// A workspace that is not trusted: it is analysed, and nothing of it is run.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Editor } from "./editor";
import { FOUR_FAULTS } from "./programs";

const MARK = "it-was-run";
let editor: Editor;

before(async () => {
  editor = await Editor.open({
    trusted: false,
    files: {
      "four.py": `${FOUR_FAULTS}open("${MARK}", "w").close()\n`,
      // Settings of the workspace that would have its own program started as Python.
      ".vscode/settings.json": JSON.stringify({ "gradsense.interpreter": "./python", "gradsense.path": ["./python"] }),
      python: `#!/bin/sh\ntouch "$(dirname "$0")/${MARK}"\n`,
    },
  });
});
after(() => editor?.close());

test("the program is analysed", () =>
  editor.watch("untrusted-analysis", async () => {
    await editor.openFile("four.py");
    await editor.squiggle("h += self.skip(x)", "error");
  }));

test("a step is not run, and the person is told why", () =>
  editor.watch("untrusted-run", async () => {
    await editor.goTo(26);
    await editor.page.keyboard.press("Control+Alt+g");
    await editor.notification("only in a trusted workspace").waitFor();
    await editor.shot("untrusted");
    assert.equal(existsSync(join(editor.folder, MARK)), false);
  }));

test("once it is trusted, its own interpreter is used", () =>
  editor.watch("untrusted-trust", async () => {
    await editor.notification("only in a trusted workspace").getByText("Manage Workspace Trust").click();
    await editor.page.getByRole("button", { name: "Trust", exact: true }).click();
    await editor.eventually(async () => assert.ok(existsSync(join(editor.folder, MARK))));
  }));
