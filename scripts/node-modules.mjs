// Installs the Node packages that building and testing need, or leaves them alone where they are up to date.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./environment.mjs";

const TRIES = 3;

/** Installs what a folder's lock file names, if that has not been done yet. */
export async function nodeModules(folder = ROOT, title = "Installing the Node packages") {
  const stamp = join(folder, "node_modules", ".set-up");
  const wanted = createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  const started = Date.now();
  console.log(`${title} ...`);
  // Without their scripts: none of these packages needs one, and some would download more.
  npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"], folder);
  writeFileSync(stamp, wanted);
  console.log(`${title}: done in ${Math.round((Date.now() - started) / 1000)} s`);
}

/** Runs npm in a folder; tries again where it fails, as networks do. */
export function npm(args, folder) {
  const program = process.platform === "win32" ? "npm.cmd" : "npm";
  let done;
  for (let left = TRIES; left > 0; left--) {
    done = spawnSync(program, args, { cwd: folder, encoding: "utf8", shell: process.platform === "win32" });
    if (done.status === 0) return;
  }
  throw new Error(`${done.error?.message ?? `${done.stdout}${done.stderr}`}\nnpm ${args[0]} failed in ${folder}.`);
}

/** The script behind a command of an installed package. */
export function tool(name, command = name) {
  const { bin } = JSON.parse(readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8"));
  return join(ROOT, "node_modules", name, typeof bin === "string" ? bin : bin[command]);
}
