// Running a step for real: what torch did is shown in place, in a report, and can be cancelled and cleared.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { Editor } from "./editor";
import { FOUR_FAULTS, NOTEBOOK, SLOW } from "./programs";

let editor: Editor;

before(async () => {
  editor = await Editor.open({ files: { "four.py": FOUR_FAULTS, "slow.py": SLOW, "fit.ipynb": NOTEBOOK } });
});
after(() => editor?.close());

test("the step is run, and the line that saved and the line that wrote are told in place", () =>
  editor.watch("run", async () => {
    await editor.openFile("four.py");
    await editor.squiggle("h += self.skip(x)", "error");
    await editor.goTo(31, 5);
    await editor.page.keyboard.press("Control+Alt+g");
    await editor.notification("modified by an inplace operation").waitFor({ timeout: 90_000 });
    await editor.squiggle("loss_a.backward()", "error");
    await editor.shot("run");
    const hints = await editor.hints();
    assert.ok(
      hints.some((text) => /saved/.test(text)),
      hints.join(" | "),
    );
  }));

test("the report shows the tracebacks, and a frame leads to its line", () =>
  editor.watch("run-report", async () => {
    await editor.notification("modified by an inplace operation").getByText("Show Report").click();
    const report = editor.webview();
    await report.getByText("It raises").waitFor();
    await report.getByText("modified by an inplace operation").first().waitFor();
    await editor.shot("run-report");
    await report.locator("a", { hasText: "four.py:15" }).first().click();
    await editor.page.locator(".statusbar-item", { hasText: "Ln 15" }).waitFor();
    await report.getByText("Copy report").click();
    await editor.eventually(async () => {
      const copied = await editor.page.evaluate(() => navigator.clipboard.readText());
      assert.match(copied, /### GradSense: four\.py/);
    });
  }));

test("results are cleared on demand", () =>
  editor.watch("run-clear", async () => {
    await editor.command("GradSense: Clear Results of the Run");
    await editor.noSquiggle("loss_a.backward()", "error");
    assert.deepEqual(
      (await editor.hints()).filter((text) => /saved/.test(text)),
      [],
    );
  }));

test("a run can be cancelled, and leaves no process behind", () =>
  editor.watch("run-cancel", async () => {
    await editor.openFile("slow.py");
    await editor.page.keyboard.press("Control+Alt+g");
    const notice = editor.notification("GradSense");
    await editor.eventually(async () => assert.notEqual(sleepers(editor).length, 0));
    await editor.page.locator(".statusbar-item", { hasText: "running" }).waitFor();
    await notice.getByText("Cancel").click();
    await editor.page.locator(".statusbar-item", { hasText: "the run was cancelled" }).waitFor();
    await editor.eventually(async () => assert.deepEqual(sleepers(editor), []));
  }));

test("a cell of a notebook is run with those before it", () =>
  editor.watch("run-notebook", async () => {
    await editor.openFile("fit.ipynb");
    await editor.line("bump += 0.5", ".notebook-editor").click();
    await editor.page.keyboard.press("Control+Alt+g");
    await editor.notification("modified by an inplace operation").waitFor({ timeout: 90_000 });
    await editor.squiggle("bump.sum().backward()", "error", ".notebook-editor");
    await editor.shot("run-notebook");
    await editor.notification("modified by an inplace operation").getByText("Show Report").click();
    await editor.webview().getByText("cell 4, line 3").first().waitFor();
  }));

/** The processes that sleep in the slow program. */
function sleepers({ folder }: Editor): string[] {
  const all = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" }).split("\n");
  return all
    .filter((line) => line.includes("sleep 86399") && !line.includes(" ps "))
    .map((line) => `${line} (${folder})`);
}
