// Runs a suite inside VS Code's extension host, where it uses the editor's own API on the packaged extension.

import assert from "node:assert/strict";
import { rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ROOT } from "../../../scripts/environment.mjs";
import { Editor, PYTHON } from "../browser/editor";
import { FOUR_FAULTS } from "../browser/programs";

const LIMIT_MS = 120_000;
let editor: Editor | undefined;

// Two names of one Python, to see by the name which was chosen.
const names = ["first", "second"].map((name) => join(tmpdir(), `gradsense-python-${name}-${process.pid}`));

after(async () => {
  for (const name of names) rmSync(name, { force: true });
  await editor?.close();
});

test("the suite passes inside the extension host", async () => {
  for (const name of names) symlinkSync(PYTHON, name);
  process.env.GRADSENSE_TEST_CHOSEN = names[0];
  process.env.GRADSENSE_TEST_OTHER = names[1];
  editor = await Editor.open({
    files: { "four.py": FOUR_FAULTS },
    settings: { "gradsense.interpreter": [] },
    suite: join(ROOT, "out", "tests", "host", "extension.suite.js"),
    develop: [join(ROOT, "tests", "vscode", "python-extension")],
  });
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error("the suite does not end")), LIMIT_MS).unref(),
  );
  const { code, said } = await Promise.race([editor.suiteEnded, late]);
  assert.equal(code, 0, said);
});
