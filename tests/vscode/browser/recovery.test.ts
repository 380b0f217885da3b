// The server is killed: the squiggles come back by themselves, for the text as it is then.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { Editor } from "./editor";
import { FOUR_FAULTS } from "./programs";

let editor: Editor;

before(async () => {
  editor = await Editor.open({ files: { "four.py": FOUR_FAULTS } });
});
after(() => editor?.close());

test(
  "a server that is killed is started again and finds what there is now",
  { skip: process.platform === "win32" },
  () =>
    editor.watch("recovery", async () => {
      await editor.openFile("four.py");
      await editor.squiggle("h += self.skip(x)", "error");
      const before = serversOf(editor);
      assert.equal(before.length, 1);
      process.kill(Number(before[0]), "SIGKILL");
      await editor.goTo(16, 9);
      await editor.page.keyboard.press("Shift+End");
      await editor.page.keyboard.type("h.mul_(self.skip(x))");
      await editor.squiggle("h.mul_(self.skip(x))", "error");
      const now = serversOf(editor);
      assert.equal(now.length, 1);
      assert.notDeepEqual(now, before);
      await editor.page.locator(".statusbar-item", { hasText: "GradSense: 3" }).waitFor();
    }),
);

/** The process numbers of the language servers that run from this editor's extensions. */
function serversOf({ place }: Editor): string[] {
  const all = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" }).split("\n");
  return all
    .filter((line) => line.includes(place) && line.includes("launch.py"))
    .map((line) => line.trim().split(" ")[0] ?? "");
}
