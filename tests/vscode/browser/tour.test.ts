// The examples as the README shows them: its pictures are made here, by `node scripts/pictures.mjs`.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ROOT } from "../../../scripts/environment.mjs";
import { Editor } from "./editor";

const EXAMPLES = join(ROOT, "examples");
let editor: Editor;

before(async () => {
  const names = readdirSync(EXAMPLES).filter((name) => !name.startsWith(".") && name.includes("."));
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(EXAMPLES, name), "utf8")]));
  editor = await Editor.open({
    files,
    viewport: { width: 1060, height: 700 },
    settings: {
      "workbench.activityBar.location": "hidden",
      "editor.stickyScroll.enabled": false,
      "window.title": "${activeEditorShort}",
    },
  });
});
after(() => editor?.close());

test("a story in the margin", () =>
  editor.watch("tour-see", async () => {
    await editor.openFile("train.py");
    await editor.command("View: Close Primary Side Bar");
    await editor.squiggle("h += self.skip(x)", "error");
    // All lines of the story shall be in view.
    await editor.goTo(27);
    for (let line = 27; line > 17; line--) await editor.page.keyboard.press("ArrowUp");
    await editor.tells("written here");
    await editor.tells("walked here");
    await editor.shot("tour-see");
  }));

test("an explanation", () =>
  editor.watch("tour-hover", async () => {
    await editor.hover("h += self.skip(x)", "skip");
    await editor.page.locator(".monaco-hover:visible", { hasText: "torch will say" }).first().waitFor();
    await editor.shot("tour-hover");
    await editor.page.keyboard.press("Escape");
  }));

test("fixes on offer", () =>
  editor.watch("tour-fix", async () => {
    await editor.goTo(17, 10);
    await editor.openFixes();
    await editor.page
      .locator(".action-widget .monaco-list-row", { hasText: "Write `h` out of place" })
      .first()
      .waitFor();
    await editor.shot("tour-fix");
    await editor.page.keyboard.press("Escape");
  }));

test("the problems of a notebook", () =>
  editor.watch("tour-notebook", async () => {
    await editor.quickOpen("training.ipynb");
    await editor.page.waitForSelector(".notebook-editor .view-line");
    await editor.page.mouse.move(500, 400);
    await editor.eventually(async () => {
      await editor.page.mouse.wheel(0, 400);
      if (!(await editor.line("bump += 0.5", ".notebook-editor").isVisible())) throw new Error("not in view");
    });
    await editor.line("bump += 0.5", ".notebook-editor").click();
    await editor.squiggle("bump += 0.5", "error", ".notebook-editor");
    await editor.tells("written here");
    await editor.shot("tour-notebook");
  }));

test("a run that raises", () =>
  editor.watch("tour-run", async () => {
    await editor.quickOpen("train.py");
    await editor.page.waitForSelector(".editor-instance .view-line");
    await editor.goTo(37, 13);
    await editor.page.keyboard.press("Control+Alt+g");
    await editor.notification("modified by an inplace operation").waitFor({ timeout: 90_000 });
    await editor.command("Notifications: Clear All Notifications");
    await editor.goTo(27);
    await editor.shot("tour-run");
  }));

test("a report of memory that grows", () =>
  editor.watch("tour-report", async () => {
    await editor.goTo(17, 10);
    await editor.fix("Write `h` out of place");
    await editor.goTo(39, 13);
    await editor.page.keyboard.press("Control+Alt+g");
    await editor.notification("grows").getByText("Show Report").click({ timeout: 90_000 });
    await editor.webview().getByRole("heading", { name: "Memory grows" }).waitFor();
    await editor.shot("tour-report");
    await editor.command("View: Focus First Editor Group");
    await editor.save("train.py", "h = h + self.skip(x)");
    await editor.command("View: Close All Editors");
  }));

test("the settings", () =>
  editor.watch("tour-settings", async () => {
    await editor.command("Preferences: Open Settings (UI)");
    await editor.page.keyboard.type("@ext:gradsense.gradsense");
    await editor.page.locator(".settings-editor .setting-item-title", { hasText: "Interpreter" }).waitFor();
    await editor.page.keyboard.press("Escape");
    await editor.shot("tour-settings");
  }));
