// `npm run build`: checks the types of the extension and bundles it into dist/extension.js. `--watch` goes on with it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fail, ROOT, run } from "./environment.mjs";
import { nodeModules, tool } from "./node-modules.mjs";

/** Bundles the extension. */
export async function build({ watch = false, minify = false } = {}) {
  const { build: bundle, context } = await import("esbuild");
  const options = {
    entryPoints: [join(ROOT, "client", "src", "extension.ts")],
    outfile: join(ROOT, "dist", "extension.js"),
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: ["vscode"],
    sourcemap: !minify,
    minify,
    logLevel: "warning",
  };
  if (watch) await (await context(options)).watch();
  else await bundle(options);
}

/** Checks the types of the extension and its tests; returns the exit code. */
export function checkTypes() {
  const projects = [join(ROOT, "client"), join(ROOT, "tests", "vscode")].filter((folder) => existsSync(folder));
  const check = (project) => run(process.execPath, [tool("typescript", "tsc"), "-p", project]);
  return Math.max(...projects.map(check));
}

if (process.argv[1] === import.meta.filename) {
  try {
    await nodeModules();
    const watch = process.argv.includes("--watch");
    process.exitCode = watch ? 0 : checkTypes();
    if (process.exitCode === 0) await build({ watch });
  } catch (error) {
    fail(error);
  }
}
