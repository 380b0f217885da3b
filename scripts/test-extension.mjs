// The extension's tests: style and types, units, and the packaged extension in a real VS Code in a real browser.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { checkTypes } from "./build.mjs";
import { installEditor } from "./editor.mjs";
import { environment, fail, ROOT, run } from "./environment.mjs";
import { nodeModules, tool } from "./node-modules.mjs";
import { makePackage } from "./package.mjs";

const TESTS = join(ROOT, "tests", "vscode");
const BUILT = join(ROOT, "out", "tests");
export const SHOTS = join(ROOT, "out", "screenshots");
const BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge"];
const MAC_BROWSERS = ["Google Chrome", "Chromium", "Microsoft Edge"].map(
  (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
);
const IN_PIPELINE = process.env.CI === "true";

/**
 * Runs the tests.
 *
 * @param python a Python with torch and the project's requirements
 * @param only parts of the names of the test files to run; all where it is empty
 * @returns the names of the parts that failed
 */
export async function testExtension(python, only = []) {
  await nodeModules();
  const failed = [];
  const part = (name, code) => {
    if (code !== 0) failed.push(name);
  };
  console.log("\n== extension: style and types");
  part("extension style", run(process.execPath, [tool("@biomejs/biome", "biome"), "check", "."]));
  part("extension types", checkTypes());
  await bundleTests();
  console.log("\n== extension: units");
  part("extension units", nodeTests("unit", only));
  const browser = findBrowser() ?? installBrowser();
  if (!browser) {
    const text = "No Chromium or Chrome was found, and only root can install one: the tests in a browser";
    if (IN_PIPELINE) failed.push("browser tests");
    console.error(`\n${text} ${IN_PIPELINE ? "fail" : "are SKIPPED"}.`);
    return failed;
  }
  await installEditor();
  rmSync(SHOTS, { recursive: true, force: true });
  mkdirSync(SHOTS, { recursive: true });
  const env = {
    GRADSENSE_VSIX: await makePackage(undefined, python),
    GRADSENSE_BROWSER: browser,
    GRADSENSE_PYTHON: python,
    GRADSENSE_SHOTS: SHOTS,
  };
  console.log("\n== extension: in VS Code's extension host");
  part("extension host", patiently("host", only, env));
  console.log(`\n== extension: in a browser (${browser})`);
  part("extension in a browser", patiently("browser", only, env));
  return failed;
}

/** Runs them, and all once more if any fails: a browser on a busy machine may exceed the time that a step is given. */
function patiently(folder, only, env) {
  if (nodeTests(folder, only, env) === 0) return 0;
  console.log("\n== extension: once more");
  return nodeTests(folder, only, env);
}

/** Runs the test files of a folder one after another: each of the larger ones has an editor and a browser of its own. */
function nodeTests(folder, only, env = {}) {
  const all = readdirSync(join(TESTS, folder)).filter((name) => name.endsWith(".test.ts"));
  const chosen = all.filter((name) => only.length === 0 || only.some((word) => name.includes(word)));
  if (chosen.length === 0) return 0;
  const files = chosen.map((name) => join(BUILT, folder, name.replace(/\.ts$/, ".js")));
  const options = [
    "--test",
    "--test-reporter=spec",
    "--test-concurrency=1",
    "--test-timeout=600000",
    "--enable-source-maps",
  ];
  return run(process.execPath, [...options, ...files], { ...env, NODE_OPTIONS: "" });
}

/** Node 20 does not read TypeScript. */
export async function bundleTests() {
  const { build } = await import("esbuild");
  rmSync(BUILT, { recursive: true, force: true });
  const url = JSON.stringify(pathToFileURL(join(ROOT, "scripts", "any.mjs")).href);
  for (const folder of ["unit", "host", "browser"]) {
    const names = readdirSync(join(TESTS, folder)).filter((name) => /\.(test|suite)\.ts$/.test(name));
    await build({
      entryPoints: names.map((name) => join(TESTS, folder, name)),
      outdir: join(BUILT, folder),
      bundle: true,
      platform: "node",
      format: "cjs",
      target: "node20",
      sourcemap: "inline",
      // Units never meet the editor; what runs inside it finds the real thing.
      ...(folder === "unit" ? { alias: { vscode: join(TESTS, "unit", "vscode.ts") } } : {}),
      external: ["vscode", "playwright-core", "esbuild"],
      // The scripts find the project by where they are, which bundling would change.
      define: { "import.meta.url": url },
      logLevel: "error",
    });
  }
}

function findBrowser() {
  const named = process.env.GRADSENSE_BROWSER;
  if (named) return named;
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  const paths = BROWSERS.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [...paths, ...(process.platform === "darwin" ? MAC_BROWSERS : [])].find((path) => existsSync(path));
}

/** Installs Chromium from the system's packages, where that can be done without asking. */
function installBrowser() {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || !existsSync("/usr/bin/apt-get")) return undefined;
  console.log("\nInstalling Chromium from the system's packages ...");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [
    ["update", "-qq"],
    ["install", "-y", "-qq", "chromium", "fonts-dejavu-core"],
  ]) {
    const done = spawnSync("apt-get", args, { encoding: "utf8", env });
    if (done.status !== 0) console.error(`${done.stdout}${done.stderr}`);
  }
  return findBrowser();
}

if (process.argv[1] === import.meta.filename) {
  try {
    const python = process.env.GRADSENSE_PYTHON ?? (await environment("test"));
    const failed = await testExtension(python, process.argv.slice(2));
    if (failed.length > 0) console.error(`\nfailed: ${failed.join(", ")}`);
    process.exitCode = failed.length > 0 ? 1 : 0;
  } catch (error) {
    fail(error);
  }
}
