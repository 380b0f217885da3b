// Makes the virtual environment `.venv` with everything that is needed, or leaves it alone where it is up to date.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const VENV = join(ROOT, ".venv");
const PYTHON = process.platform === "win32" ? join(VENV, "Scripts", "python.exe") : join(VENV, "bin", "python");
const OLDEST = [3, 10];
const BIG_DOWNLOAD_MB = 20;

/**
 * Sets up `.venv` and returns the path of its Python.
 *
 * @param {"run" | "test"} purpose tests need torch and more besides
 */
export async function environment(purpose) {
  const locks = purpose === "test" ? ["requirements.lock", "requirements-dev.lock"] : ["requirements.lock"];
  if (!isUsable(PYTHON)) {
    rmSync(VENV, { recursive: true, force: true });
    makeVenv(findPython());
  }
  const stamp = join(VENV, `.set-up-to-${purpose}`);
  const wanted = fingerprint([...locks, "pyproject.toml"]);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return PYTHON;

  const what = purpose === "test" ? "GradSense, torch and the test tools" : "GradSense";
  await pip(`Installing ${what}`, ["-r", join(ROOT, locks.at(-1))]);
  await pip("Linking this folder", ["--no-deps", "--no-build-isolation", "-e", ROOT]);
  writeFileSync(stamp, wanted);
  return PYTHON;
}

/** Runs a program in the project's folder, its output straight through, and gives its exit code. */
export function run(program, args, env = {}) {
  const done = spawnSync(program, args, { cwd: ROOT, stdio: "inherit", env: { ...process.env, ...env } });
  if (done.error) throw done.error;
  return done.status ?? 1;
}

/** Ends this process with a message in place of a stack trace. */
export function fail(error) {
  console.error(`\n${error.message}`);
  process.exit(2);
}

function isUsable(python) {
  return existsSync(python) && versionOf([python]) !== undefined;
}

function findPython() {
  const named = process.env.PYTHON;
  const usual = [["python3"], ["python"], ...[14, 13, 12, 11, 10].map((minor) => [`python3.${minor}`]), ["py", "-3"]];
  const found = (named ? [[named]] : usual).find((command) => versionOf(command) !== undefined);
  if (found) return found;
  const need = `GradSense needs Python ${OLDEST.join(".")} or newer`;
  throw new Error(
    named ? `${need}, which PYTHON=${named} is not.` : `${need}, and none was found. Name one with PYTHON=path.`,
  );
}

/** The version of a Python, or undefined where it is too old or none. */
function versionOf([program, ...args]) {
  const asked = spawnSync(program, [...args, "-c", "import sys; print(*sys.version_info[:2])"], { encoding: "utf8" });
  const version = asked.status === 0 ? asked.stdout.trim().split(" ").map(Number) : [0, 0];
  return version[0] === OLDEST[0] && version[1] >= OLDEST[1] ? version : undefined;
}

function makeVenv([program, ...args]) {
  console.log(`Making .venv with ${[program, ...args].join(" ")} (${versionOf([program, ...args]).join(".")})`);
  const made = spawnSync(program, [...args, "-m", "venv", VENV], { encoding: "utf8" });
  if (made.status === 0) return;
  rmSync(VENV, { recursive: true, force: true });
  throw new Error(
    `${made.stdout}${made.stderr}\nNo virtual environment could be made. On Debian: apt install python3-venv.`,
  );
}

/** What an installation depends on: should any of it change, it is made anew. */
function fingerprint(files) {
  const hash = createHash("sha256").update(`${ROOT}\0${versionOf([PYTHON])}\0`);
  for (const file of files) hash.update(readFileSync(join(ROOT, file)));
  return hash.digest("hex");
}

/** Runs `pip install`, telling how far it is; its own output is shown only if it fails. */
function pip(title, args) {
  const started = Date.now();
  const live = process.stdout.isTTY;
  const show = (text) =>
    process.stdout.write(live ? `\r\x1b[2K${text.slice(0, (process.stdout.columns ?? 80) - 1)}` : "");
  const command = [
    "-m",
    "pip",
    "install",
    "--progress-bar",
    "off",
    "--no-input",
    "--disable-pip-version-check",
    ...args,
  ];
  const child = spawn(PYTHON, command, {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PYTHONUNBUFFERED: "1" },
  });
  let log = "";
  let packages = 0;
  if (!live) console.log(`${title} ...`);
  const read = (chunk) => {
    log += chunk;
    for (const line of String(chunk).split("\n")) {
      const [, name] = line.match(/^Collecting (\S+)/) ?? [];
      const [, size, unit] = line.match(/^\s*Downloading \S+ \(([\d.]+) ([MG])B\)/) ?? [];
      if (name) show(`${title}: ${name} (${++packages})`);
      if (line.startsWith("Installing collected")) show(`${title}: unpacking`);
      if (unit === "G" || size >= BIG_DOWNLOAD_MB) {
        if (live) show(`${title}: downloading ${size} ${unit}B`);
        else console.log(`  ${line.trim()}`);
      }
    }
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      show("");
      if (code !== 0)
        return reject(new Error(`${log}\n${title} failed (pip ended with ${code}); its output is above.`));
      console.log(`${title}: done in ${Math.round((Date.now() - started) / 1000)} s`);
      resolve();
    });
  });
}
