// A training script in the editor: what is seen, and what the four classic fixes make of it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { Editor, PYTHON } from "./editor";
import { FOUR_FAULTS, FOUR_MARKS } from "./programs";

let editor: Editor;

before(async () => {
  editor = await Editor.open({ files: { "four.py": FOUR_FAULTS } });
});
after(() => editor?.close());

test("a squiggle stands under the words to change, and the status item counts it", () =>
  editor.watch("squiggle", async () => {
    await editor.openFile("four.py");
    await editor.squiggle("h += self.skip(x)", "error");
    assert.deepEqual(await editor.underlined("error"), ["h += self.skip(x)"]);
    await editor.squiggle("loss_b.backward()", "warning");
    await editor.squiggle("running += loss_a", "warning");
    await editor.page.locator(".statusbar-item", { hasText: "GradSense: 3" }).waitFor();
  }));

test("marks and words tell the rest of the story", () =>
  editor.watch("marks", async () => {
    await editor.goTo(16, 9);
    for (const words of ["sigmoid saved it here", "written here", "walked here"]) await editor.tells(words);
    await editor.eventually(async () => assert.deepEqual(await editor.icons(), FOUR_MARKS));
    await editor.shot("script-marks");
  }));

test("hovering explains", () =>
  editor.watch("hover", async () => {
    await editor.hover("h += self.skip(x)", "skip");
    const hover = editor.page.locator(".monaco-hover:visible", { hasText: "GS201" }).first();
    await hover.waitFor();
    await editor.eventually(async () => {
      const text = (await hover.textContent()) ?? "";
      assert.match(text, /saved `?h`? for backward/);
      assert.match(text, /modified by an inplace operation/);
    });
    await editor.shot("script-hover");
    await editor.page.keyboard.press("Escape");
  }));

test("the four fixes, one after the other, give a file that runs clean on torch", () =>
  editor.watch("fixes", async () => {
    await editor.goTo(16, 10);
    await editor.fix("Write `h` out of place");
    await editor.line("h = h + self.skip(x)").waitFor();
    await editor.squiggle("loss_b.backward()", "error");
    await editor.goTo(32, 6);
    await editor.fix("Walk the sum of the losses once");
    await editor.line("(loss_a + loss_b).backward()").waitFor();
    await editor.squiggle("state", "error");
    await editor.goTo(27, 12);
    await editor.fix("Detach `state` once it is set");
    await editor.line("state.detach()").waitFor();
    await editor.squiggle("running += loss_a", "warning");
    await editor.page.keyboard.press("Control+End");
    await editor.page.keyboard.press("ArrowUp");
    await editor.page.keyboard.press("ArrowUp");
    await editor.page.keyboard.press("End");
    await editor.fix("Accumulate `loss_a` as a number");
    await editor.line("running += loss_a.item()").waitFor();
    await editor.noSquiggle("running += loss_a", "warning");
    assert.deepEqual(await editor.underlined("error"), []);
    await editor.save("four.py", "running += loss_a.item()");
    await editor.shot("script-mended");
    const said = execFileSync(PYTHON, ["four.py"], { cwd: editor.folder, encoding: "utf8" });
    assert.match(said, /^\d+\.\d+/);
  }));

test("an error on the clipboard is explained", () =>
  editor.watch("explain", async () => {
    const error =
      "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed).";
    await editor.page.evaluate((text) => navigator.clipboard.writeText(text), error);
    await editor.command("GradSense: Explain a torch Error");
    const notice = editor.notification("A graph is walked a second time.");
    await notice.getByText("Read").waitFor();
    await editor.shot("explain");
    await notice.getByText("Read").click();
    await editor.page.locator(".tab.active", { hasText: "Preview" }).waitFor();
    await editor.shot("explain-read");
  }));
