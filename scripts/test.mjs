// `npm test`: sets everything up, then style, types and tests of the server and of the extension. All parts run; if any fails, so does the whole.

import { availableParallelism } from "node:os";
import { editors } from "./editors.mjs";
import { environment, fail, run } from "./environment.mjs";
import { testExtension } from "./test-extension.mjs";

const workers = String(Math.min(availableParallelism(), 8));
const parts = {
  style: ["ruff", "check", "."],
  format: ["ruff", "format", "--check", "."],
  types: ["mypy"],
  tests: ["pytest", "-n", workers, "--dist", "worksteal"],
};

try {
  const python = await environment("test");
  editors();
  const failed = [];
  for (const [name, command] of Object.entries(parts)) {
    console.log(`\n== ${name}: ${command.join(" ")}`);
    // The workers share the cores; torch's own threads would fight over them.
    if (run(python, ["-m", ...command], { OMP_NUM_THREADS: "1" }) === 0) continue;
    if (name === "tests") {
      // Editors and processes are awaited for a bounded time, which a busy machine may exceed.
      console.log("\n== tests that failed, once more and one after another");
      if (
        run(python, ["-m", "pytest", "--last-failed", "--last-failed-no-failures", "none"], {
          OMP_NUM_THREADS: "1",
        }) === 0
      )
        continue;
    }
    failed.push(name);
  }
  failed.push(...(await testExtension(python)));
  if (failed.length > 0) {
    console.error(`\nfailed: ${failed.join(", ")}`);
    process.exitCode = 1;
  }
} catch (error) {
  fail(error);
}
