// `npm start`: sets everything up, shows what GradSense finds in the examples, and opens them in an editor with the
// extension. `-- --once` ends after everything was tried, and so does a start without a terminal or in a pipeline.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import { installEditor, Profile } from "./editor.mjs";
import { environment, fail, ROOT, run } from "./environment.mjs";
import { makePackage, stageOf } from "./package.mjs";
import { checkServer } from "./server-check.mjs";

const EXAMPLES = join(ROOT, "examples");
const PORT = 8383;
const FIRST = join(EXAMPLES, "train.py");

try {
  const once = process.argv.includes("--once") || process.env.CI === "true" || !process.stdout.isTTY;
  const python = await environment("run");
  const vsix = await makePackage();
  console.log("\nWhat GradSense finds in examples/:\n");
  const code = run(python, ["-m", "gradsense", "check", "--exit-zero", "examples"]);
  if (code !== 0) throw new Error(`gradsense check ended with ${code}.`);
  const server = await checkServer([python, "-I", join(stageOf(), "server", "launch.py"), "server"], FIRST);
  console.log(`The language server works: ${server.name} ${server.version} finds ${server.first} in train.py.`);
  const desktop = once ? undefined : findCode();
  if (desktop) await openDesktop(desktop, vsix, python);
  else await serve(vsix, python, once);
} catch (error) {
  fail(error);
}

/** Serves an editor with the extension until Ctrl+C, or just long enough to see that it answers. */
async function serve(vsix, python, once) {
  await installEditor();
  const profile = new Profile(join(ROOT, "out", "editor"));
  prepare(profile, vsix, python);
  const editor = await profile.serve(PORT);
  const url = editor.url(EXAMPLES, {
    payload: JSON.stringify([["openFile", `vscode-remote://${new URL(editor.origin).host}${FIRST}`]]),
  });
  console.log(`\nThe examples in an editor: ${url}`);
  if (once) {
    await probe(url).finally(() => editor.end());
    console.log("The editor answers. Start it from a terminal, without --once, to use it.");
    return;
  }
  console.log("Ctrl+C ends it.");
  await new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, resolve);
    editor.process.once("exit", resolve);
  });
  await editor.end();
  process.exit(0);
}

/** Fetches the editor's page as a browser would, which takes the token in the address for a cookie first. */
async function probe(url) {
  const first = await fetch(url, { redirect: "manual" });
  const cookie = first.headers.get("set-cookie")?.split(";")[0] ?? "";
  const page = await fetch(new URL(first.headers.get("location") ?? url, url), { headers: { cookie } });
  if (!page.ok) throw new Error(`The editor answers ${page.status}.`);
}

/** Settings, and the extension where another one is installed than the one just packaged. */
function prepare(profile, vsix, python) {
  profile.configure({ "security.workspace.trust.enabled": false, "gradsense.interpreter": withTorch(python) });
  const stamp = join(profile.folder, "installed");
  const wanted = readFileSync(`${vsix}.made-of`, "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  rmSync(join(profile.folder, "extensions"), { recursive: true, force: true });
  profile.install(vsix);
  writeFileSync(stamp, wanted);
}

/** Opens the user's VS Code with settings and extensions of its own, so that theirs stay as they are. */
async function openDesktop(program, vsix, python) {
  const profile = new Profile(join(ROOT, "out", "code"));
  profile.configure({ "security.workspace.trust.enabled": false, "gradsense.interpreter": withTorch(python) });
  const places = [
    "--user-data-dir",
    join(profile.folder, "data"),
    "--extensions-dir",
    join(profile.folder, "extensions"),
  ];
  const shell = process.platform === "win32";
  const installed = spawnSync(program, [...places, "--install-extension", vsix, "--force"], {
    encoding: "utf8",
    shell,
  });
  if (installed.status !== 0)
    throw new Error(`${installed.stdout}${installed.stderr}\nThe extension could not be installed.`);
  console.log("\nOpening the examples in VS Code; Ctrl+C, or closing its window, ends this.");
  console.log(`To have it in your own: code --install-extension ${relative(process.cwd(), vsix)}`);
  const child = spawn(program, [...places, "--new-window", "--wait", EXAMPLES, FIRST], { stdio: "inherit", shell });
  await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
}

/** The `code` command, where there is one and a screen to show it on. */
function findCode() {
  const screen = process.platform !== "linux" || process.env.DISPLAY || process.env.WAYLAND_DISPLAY;
  if (!screen) return undefined;
  const names = process.platform === "win32" ? ["code.cmd"] : ["code", "codium"];
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
}

/** A Python that can run the examples: one that has torch, or else ours. */
function withTorch(python) {
  const question = ["-c", "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"];
  const found = [python, process.env.PYTHON, "python3"]
    .filter(Boolean)
    .find((program) => spawnSync(program, question).status === 0);
  if (!found)
    console.log("No Python with torch was found: to run the examples' steps, set gradsense.interpreter to one.");
  return found ?? python;
}
