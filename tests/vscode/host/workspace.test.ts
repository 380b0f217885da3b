// Runs a suite inside the extension host of a window with two folders.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { ROOT } from "../../../scripts/environment.mjs";
import { Editor, PYTHON } from "../browser/editor";

const LIMIT_MS = 180_000;
const TWO_FAULTS = `import torch
w = torch.ones(2, requires_grad=True)
total = 0.0
for step in range(3):
    loss = (w * w).sum()
    loss.backward()
    total += loss
y = w.exp()
y += 1
y.sum().backward()
`;
const WHERE = `import os, sys
import torch

torch.ones(2, requires_grad=True).sum().backward()
print(os.environ["VIA"], sys.argv[1], os.getcwd())
`;
const MARKED = `# %%
import torch
w = torch.ones(2, requires_grad=True)
# %%
raise RuntimeError("not run")
`;
let editor: Editor;

after(() => editor?.close());

test("the suite passes in a window with two folders", async () => {
  const folders = ["first", "second"];
  const settings = (folder: string, more: object) =>
    JSON.stringify({ "gradsense.interpreter": "./python", "gradsense.run.args": [`of-${folder}`], ...more });
  editor = await Editor.open({
    files: {
      "two.code-workspace": JSON.stringify({ folders: folders.map((path) => ({ path })) }),
      "first/.vscode/settings.json": settings("first", { "gradsense.ignore": ["GS2"] }),
      "second/.vscode/settings.json": settings("second", {}),
      "second/marked.py": MARKED,
      ...Object.fromEntries(
        folders.flatMap((folder) => [
          [`${folder}/faults.py`, TWO_FAULTS],
          [`${folder}/where.py`, WHERE],
          // A Python that says by which name it was started.
          [`${folder}/python`, `#!/bin/sh\nVIA=${folder} exec "${PYTHON}" "$@"\n`],
        ]),
      ),
    },
    workspace: "two.code-workspace",
    suite: join(ROOT, "out", "tests", "host", "workspace.suite.js"),
    develop: [join(ROOT, "tests", "vscode", "python-extension")],
  });
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error("the suite does not end")), LIMIT_MS).unref(),
  );
  const { code, said } = await Promise.race([editor.suiteEnded, late]);
  assert.equal(code, 0, said);
});
