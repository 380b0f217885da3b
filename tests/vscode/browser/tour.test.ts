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
    viewport: { width: 1120, height: 640 },
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
    await editor.goTo(17, 9);
    await editor.tells("written here");
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
    await editor.page.keyboard.press("Control+.");
    await editor.page.locator(".action-widget .monaco-list-row", { hasText: "Write `h` out of place" }).waitFor();
    await editor.shot("tour-fix");
    await editor.page.keyboard.press("Escape");
  }));

test("the problems of a notebook", () =>
  editor.watch("tour-notebook", async () => {
    await editor.command("View: Show Explorer");
    await editor.openFile("training.ipynb");
    await editor.command("View: Close Primary Side Bar");
    await editor.page.mouse.move(500, 400);
    await editor.page.mouse.wheel(0, 3000);
    await editor.line("bump += 0.5", ".notebook-editor").click();
    await editor.squiggle("bump += 0.5", "error", ".notebook-editor");
    await editor.tells("written here");
    await editor.shot("tour-notebook");
  }));
