// `npm run package`: makes the extension's .vsix for a platform (`-- --target darwin-arm64`; by default, this one).

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { build, checkTypes } from "./build.mjs";
import { environment, fail, ROOT } from "./environment.mjs";
import { nodeModules, tool } from "./node-modules.mjs";

const OUT = join(ROOT, "out");
const CARRIED = [
  "package.nls.json",
  "README.md",
  "CHANGELOG.md",
  "LICENSE",
  "client/media",
  "docs/images",
  "examples/train.py",
  "server/launch.py",
  "server/gradsense",
];
const DEVELOPERS_ONLY = ["scripts", "devDependencies", "private"];
const LIMIT_MB = 40;

/** The name that VS Code has for this platform. */
export function thisPlatform() {
  const alpine = process.platform === "linux" && existsSync("/etc/alpine-release");
  return `${alpine ? "alpine" : process.platform}-${process.arch}`;
}

/** The folder with the files that go into the package, as they lie in it. */
export function stageOf(target = thisPlatform()) {
  return join(OUT, "stage", target);
}

/**
 * Makes the .vsix, or leaves it alone where nothing that goes into it has changed.
 *
 * @param target the platform, as VS Code names it
 * @param python a Python with the project's requirements; by default, that of `.venv`
 * @returns its path
 */
export async function makePackage(target = thisPlatform(), python = undefined) {
  python ??= await environment("run");
  await nodeModules();
  const { version } = manifest();
  const vsix = join(OUT, `gradsense-${target}-${version}.vsix`);
  const stamp = `${vsix}.made-of`;
  const wanted = fingerprint();
  if (existsSync(vsix) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return vsix;

  console.log(`Packaging the extension for ${target} ...`);
  if (checkTypes() !== 0) throw new Error("The extension's types do not check.");
  await build({ minify: true });
  const stage = stageOf(target);
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage, { recursive: true });
  writeFileSync(join(stage, "package.json"), JSON.stringify(manifest(), null, 2));
  for (const name of CARRIED) {
    if (existsSync(join(ROOT, name)))
      cpSync(join(ROOT, name), join(stage, name), { recursive: true, filter: isCarried });
  }
  cpSync(join(ROOT, "dist", "extension.js"), join(stage, "dist", "extension.js"));
  cpSync(libraries(python, target), join(stage, "server", "libs"), { recursive: true });
  vsce(stage, target, vsix);
  const megabytes = statSync(vsix).size / 1e6;
  if (megabytes > LIMIT_MB) throw new Error(`${vsix} has ${megabytes.toFixed(1)} MB, more than ${LIMIT_MB}.`);
  writeFileSync(stamp, wanted);
  console.log(`Packaged ${relative(ROOT, vsix)} (${megabytes.toFixed(1)} MB)`);
  return vsix;
}

/** The Python libraries for a platform, downloaded once as long as the lock file stays. */
function libraries(python, target) {
  const made = createHash("sha256");
  for (const name of ["requirements.lock", "pyproject.toml", "scripts/libraries.py"])
    made.update(readFileSync(join(ROOT, name)));
  const folder = join(OUT, "libs", `${target}-${made.digest("hex").slice(0, 12)}`);
  if (existsSync(join(folder, ".whole"))) return folder;
  console.log(`Downloading the server's libraries for ${target} ...`);
  const done = spawnSync(python, [join(ROOT, "scripts", "libraries.py"), folder, target], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.error?.message ?? done.stderr);
  writeFileSync(join(folder, ".whole"), "");
  return folder;
}

function vsce(stage, target, vsix) {
  // Links stay as they are: the pictures lie in the package, and the project names no address to fetch them from.
  const args = ["package", "--target", target, "--out", vsix, "--no-dependencies", "--no-rewrite-relative-links"];
  // The search for secrets takes minutes over the libraries, and the stage holds only what is public already.
  const more = [
    "--allow-package-all-secrets",
    "--allow-missing-repository",
    "--no-git-tag-version",
    "--no-update-package-json",
  ];
  const done = spawnSync(process.execPath, [tool("@vscode/vsce", "vsce"), ...args, ...more], {
    cwd: stage,
    encoding: "utf8",
  });
  if (done.status !== 0) throw new Error(`${done.stdout}${done.stderr}\nvsce failed.`);
}

/** The manifest without what only developers need. */
function manifest() {
  const whole = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const key of DEVELOPERS_ONLY) delete whole[key];
  return whole;
}

function isCarried(path) {
  return !/__pycache__|\.pyc$|\.DS_Store$/.test(path);
}

/** What the package is made of: should any of it change, it is made anew. */
function fingerprint() {
  const hash = createHash("sha256");
  const sources = [
    ...CARRIED,
    "client/src",
    "package.json",
    "package-lock.json",
    "requirements.lock",
    "pyproject.toml",
    "scripts",
  ];
  for (const name of sources) {
    const path = join(ROOT, name);
    if (existsSync(path)) addTo(hash, path);
  }
  return hash.digest("hex");
}

function addTo(hash, path) {
  if (!isCarried(path)) return;
  if (statSync(path).isDirectory()) {
    for (const name of readdirSync(path).sort()) addTo(hash, join(path, name));
  } else {
    hash.update(`${relative(ROOT, path)}\0`).update(readFileSync(path));
  }
}

if (process.argv[1] === import.meta.filename) {
  try {
    const at = process.argv.indexOf("--target");
    await makePackage(at === -1 ? undefined : process.argv[at + 1]);
  } catch (error) {
    fail(error);
  }
}
