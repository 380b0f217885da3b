// Makes the pictures of the README and of the walkthrough: screenshots of the packaged extension on the examples.

import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { environment, fail, ROOT } from "./environment.mjs";
import { SHOTS, testExtension } from "./test-extension.mjs";

const IMAGES = join(ROOT, "docs", "images");
const GUIDE = join(ROOT, "client", "media", "walkthrough");
/** Where each screenshot of tests/vscode/browser/tour.test.ts goes. */
const PLACES = {
  "tour-see": [join(IMAGES, "see.png"), join(GUIDE, "see.png")],
  "tour-hover": [join(IMAGES, "hover.png")],
  "tour-fix": [join(IMAGES, "fix.png"), join(GUIDE, "fix.png")],
  "tour-notebook": [join(IMAGES, "notebook.png")],
  "tour-run": [join(IMAGES, "run.png"), join(GUIDE, "run.png")],
  "tour-report": [join(IMAGES, "report.png")],
  "tour-settings": [join(GUIDE, "tune.png")],
};

try {
  const python = process.env.GRADSENSE_PYTHON ?? (await environment("test"));
  const failed = await testExtension(python, ["tour"]);
  if (failed.length > 0) throw new Error(`failed: ${failed.join(", ")}`);
  for (const folder of [IMAGES, GUIDE]) mkdirSync(folder, { recursive: true });
  for (const [shot, places] of Object.entries(PLACES)) {
    for (const place of places) copyFileSync(join(SHOTS, `${shot}.png`), place);
  }
} catch (error) {
  fail(error);
}
