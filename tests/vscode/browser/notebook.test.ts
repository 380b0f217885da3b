// A notebook: its cells are one program, and a fix changes the cell that it is for.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { Editor, PYTHON } from "./editor";
import { NOTEBOOK, sourcesOf } from "./programs";

const NAME = "fit.ipynb";
let editor: Editor;

before(async () => {
  editor = await Editor.open({ files: { [NAME]: NOTEBOOK } });
});
after(() => editor?.close());

test("squiggles stand in the cells, under the right words", () =>
  editor.watch("notebook-squiggles", async () => {
    await editor.openFile(NAME);
    await editor.squiggle("losses.append(loss)", "warning", ".notebook-editor");
    await editor.squiggle("bump += 0.5", "error", ".notebook-editor");
    await editor.shot("notebook");
  }));

test("a fix in a cell is applied there, and the saved notebook runs clean on torch", () =>
  editor.watch("notebook-fix", async () => {
    await editor.line("bump += 0.5", ".notebook-editor").click();
    await editor.page.keyboard.press("Home");
    await editor.fix("Write `bump` out of place");
    await editor.line("bump = bump + 0.5", ".notebook-editor").waitFor();
    await editor.noSquiggle("bump += 0.5", "error", ".notebook-editor");
    await editor.line("losses.append(loss)", ".notebook-editor").click();
    await editor.page.keyboard.press("Home");
    await editor.fix("Keep `loss` without its graph");
    await editor.line("losses.append(loss.detach())", ".notebook-editor").waitFor();
    await editor.save(NAME, "loss.detach()");
    assert.deepEqual(sourcesOf(editor.read(NAME)).slice(0, 2), sourcesOf(NOTEBOOK).slice(0, 2));
    await editor.shot("notebook-mended");
    execFileSync(PYTHON, ["-c", sourcesOf(editor.read(NAME)).join("\n")], { cwd: editor.folder, encoding: "utf8" });
  }));
