// Running a step for real: what torch did is shown in place, in a report, and can be cancelled and cleared.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { Editor } from "./editor";
import { FOUR_FAULTS, FOUR_MARKS, NOTEBOOK, SLOW, UNCALLED } from "./programs";

let editor: Editor;

before(async () => {
  editor = await Editor.open({
    files: { "four.py": FOUR_FAULTS, "slow.py": SLOW, "tilt.py": UNCALLED, "fit.ipynb": NOTEBOOK },
  });
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
    const marks = await editor.icons();
    assert.deepEqual(marks, FOUR_MARKS);
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
    await editor.eventually(async () => {
      const left = (await editor.hints()).filter((text) => /saved/.test(text));
      assert.deepEqual(left, []);
    });
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

test("a call that is selected is run", () =>
  editor.watch("run-selection", async () => {
    await editor.openFile("tilt.py");
    await editor.squiggle("y += 1", "error");
    await editor.goTo(11, 11);
    await editor.page.keyboard.press("Shift+End");
    await editor.command("GradSense: Run Selection Under Anomaly Detection");
    const notice = editor.notification("on line 8: one of the variables");
    await notice.waitFor({ timeout: 90_000 });
    await editor.squiggle("y.sum().backward()", "error");
    await notice.getByText("Show Report").click();
    await editor.webview().getByText("tilt.py: tilt(3.0)").waitFor();
    await editor.shot("run-selection");
    await editor.page.locator(".tab", { hasText: "GradSense Report" }).locator(".codicon-close").click();
  }));

test("a fix is tried on a copy, and taken once it is seen to work", () =>
  editor.watch("run-fix", async () => {
    await editor.command("Notifications: Clear All Notifications");
    await editor.goTo(7, 6);
    await editor.fix("Try on a copy and run the step: Write `y` out of place");
    const notice = editor.notification("the step is clean");
    await notice.waitFor({ timeout: 90_000 });
    assert.match(editor.read("tilt.py"), /y \+= 1/);
    await editor.shot("run-fix");
    await notice.getByText("Apply the fix").click();
    await editor.save("tilt.py", "    y = y + 1\n");
    await editor.noSquiggle("y += 1", "error");
  }));

test("a cell of a notebook is run with those before it, from the line above it", () =>
  editor.watch("run-notebook", async () => {
    await editor.openFile("fit.ipynb");
    const cell = editor.page.locator(".notebook-editor .monaco-editor", { hasText: "bump += 0.5" });
    await cell.locator(".codelens-decoration a", { hasText: "Run step under anomaly detection" }).click();
    await editor.notification("in cell 4, line 4: one of the variables").waitFor({ timeout: 90_000 });
    await editor.squiggle("bump.sum().backward()", "error", ".notebook-editor");
    await editor.shot("run-notebook");
    await editor.notification("in cell 4, line 4").getByText("Show Report").click();
    const report = editor.webview();
    await report.getByText("fit.ipynb, cell 4").waitFor();
    await report.locator("a", { hasText: "cell 4, line 2" }).first().click();
    await editor.page.locator(".statusbar-item", { hasText: "Cell 4 of 4" }).waitFor();
  }));

/** The processes that sleep in the slow program. */
function sleepers({ folder }: Editor): string[] {
  const all = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" }).split("\n");
  return all
    .filter((line) => line.includes("sleep 86399") && !line.includes(" ps "))
    .map((line) => `${line} (${folder})`);
}
