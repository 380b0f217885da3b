// A notebook with a live kernel: a cell may run there, with what the kernel has, after the person was asked.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ROOT } from "../../../scripts/environment.mjs";
import { Editor } from "./editor";
import { notebook } from "./programs";

const CELLS = [
  "import torch\nw = torch.ones(3, requires_grad=True)\ncount = 0",
  "def tilt(x):\n    y = x.exp()\n    y += 1\n    return y",
  'count += 1\nopen("count", "w").write(str(count))\ntilt(w).sum().backward()',
];
let editor: Editor;

before(async () => {
  editor = await Editor.open({
    files: { "live.ipynb": notebook(...CELLS) },
    develop: [join(ROOT, "tests", "vscode", "jupyter-extension")],
  });
});
after(() => editor?.close());

test("where a kernel is live, the person is asked, and the kernel's variables are used", () =>
  editor.watch("kernel-ask", async () => {
    await editor.openFile("live.ipynb");
    await editor.squiggle("y += 1", "error", ".notebook-editor");
    await editor.line("tilt(w)", ".notebook-editor").click();
    await editor.command("Stub: Run Cells Above");
    await editor.page.locator(".statusbar-item", { hasText: "cells above were run" }).waitFor({ timeout: 90_000 });
    await editor.line("tilt(w)", ".notebook-editor").click();
    await editor.page.keyboard.press("Control+Alt+g");
    const entry = editor.page.locator(".quick-input-list .monaco-list-row", { hasText: "changes its state" });
    await entry.waitFor();
    await editor.shot("kernel-ask");
    await entry.click();
    await editor.notification("in cell 3, line 3").waitFor({ timeout: 90_000 });
    await editor.squiggle("tilt(w).sum().backward()", "error", ".notebook-editor");
    await editor.shot("kernel-run");
    assert.equal(counted(), "1");
  }));

test("what the run changed is there for the next, and the same is done again without asking", () =>
  editor.watch("kernel-again", async () => {
    await editor.command("Notifications: Clear All Notifications");
    await editor.command("GradSense: Run the Last Step Again");
    await editor.notification("in cell 3, line 3").waitFor({ timeout: 90_000 });
    assert.equal(counted(), "2");
    await editor.notification("in cell 3, line 3").getByText("Show Report").click();
    await editor.webview().getByText("live.ipynb, cell 3, in the kernel").waitFor();
    await editor.shot("kernel-report");
  }));

test("a choice that is pinned is not asked for any more", () =>
  editor.watch("kernel-pin", async () => {
    await editor.command("View: Focus First Editor Group");
    await editor.command("Notifications: Clear All Notifications");
    await editor.line("tilt(w)", ".notebook-editor").click();
    await editor.page.keyboard.press("Control+Alt+g");
    const entry = editor.page.locator(".quick-input-list .monaco-list-row", { hasText: "fresh process" });
    await entry.hover();
    await entry.locator(".action-label").click();
    const title = editor.webview().locator("header .what");
    // A report that is in view is filled anew, and no notification is needed.
    await editor.eventually(async () => assert.equal(await title.textContent(), "live.ipynb, cell 3"));
    // In a process of its own the count begins anew.
    assert.equal(counted(), "1");
    const settings = readFileSync(join(editor.place, "profile", "data", "User", "settings.json"), "utf8");
    assert.equal(JSON.parse(settings)["gradsense.run.inKernel"], "never");
    assert.equal(await editor.notification("in cell 3, line 3").isVisible(), false);
    await editor.line("tilt(w)", ".notebook-editor").click();
    await editor.page.keyboard.press("Control+Alt+g");
    await editor.page.locator(".statusbar-item", { hasText: "running" }).waitFor();
    await editor.page.locator(".statusbar-item", { hasText: "running" }).waitFor({ state: "hidden", timeout: 90_000 });
    assert.equal(await entry.isVisible(), false);
  }));

function counted(): string {
  return editor.read("count");
}
