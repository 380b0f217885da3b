// A VS Code of our own: the one inside npm's code-server, served on 127.0.0.1 to a browser. No compiler is needed and
// nothing is downloaded but npm packages.

import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { ROOT } from "./environment.mjs";
import { nodeModules, npm } from "./node-modules.mjs";

const FOLDER = join(ROOT, "client", "editor");
const VSCODE = join(FOLDER, "node_modules", "code-server", "lib", "vscode");
const MAIN = join(VSCODE, "out", "server-main.js");
const PARTS_DONE = join(VSCODE, ".parts-installed");
const START_MS = 60_000;
const END_MS = 10_000;

/** Without welcome pages, updates and telemetry. */
const SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.enableExperiments": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoCheckUpdates": false,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "update.mode": "none",
  "git.openRepositoryInParentFolders": "never",
  "chat.commandCenter.enabled": false,
};

/** Installs it, or leaves it alone where it is up to date. */
export async function installEditor() {
  await nodeModules(FOLDER, "Installing an editor (about 100 MB)");
  if (existsSync(PARTS_DONE)) return;
  console.log("Installing the editor's own packages ...");
  const args = [
    "ci",
    "--omit=dev",
    "--ignore-scripts",
    "--legacy-peer-deps",
    "--no-audit",
    "--no-fund",
    "--loglevel",
    "error",
  ];
  npm(args, VSCODE);
  npm(args, join(VSCODE, "extensions"));
  // What its own install script, which refuses to run for some users and downloads more, would do beyond that.
  link("node_modules", join(VSCODE, "node_modules.asar"));
  const found = ripgrep();
  if (found) {
    mkdirSync(join(VSCODE, "node_modules", "@vscode", "ripgrep", "bin"), { recursive: true });
    link(found, join(VSCODE, "node_modules", "@vscode", "ripgrep", "bin", found.endsWith(".exe") ? "rg.exe" : "rg"));
  }
  writeFileSync(PARTS_DONE, "");
}

/** An installation of the editor's data: extensions, settings, what it remembers. Nothing of the user's is touched. */
export class Profile {
  /** @param folder where it is, or shall be */
  constructor(folder) {
    this.folder = folder;
  }

  /** Installs an extension from its .vsix. */
  install(vsix) {
    const args = ["--install-extension", vsix, "--force", ...this.#places()];
    const done = spawnSync(process.execPath, [MAIN, ...args], { encoding: "utf8", env: this.#env() });
    if (done.status !== 0) throw new Error(`${done.stdout}${done.stderr}\nThe extension could not be installed.`);
  }

  /** Writes the user's settings. */
  configure(settings) {
    mkdirSync(join(this.folder, "data", "User"), { recursive: true });
    writeFileSync(
      join(this.folder, "data", "User", "settings.json"),
      JSON.stringify({ ...SETTINGS, ...settings }, null, 2),
    );
  }

  /**
   * Serves the editor, and resolves once it listens.
   *
   * @param port the port to listen on, if it is free
   * @param env environment variables besides those there are
   * @returns {Promise<{url: (folder: string, more?: Record<string, string>) => string, origin: string, process: import("node:child_process").ChildProcess, end: () => Promise<void>}>}
   */
  async serve(port = 0, env = {}) {
    const free = await freePort(port);
    const token = randomBytes(12).toString("hex");
    const args = [
      "--host",
      "127.0.0.1",
      "--port",
      String(free),
      "--connection-token",
      token,
      "--telemetry-level",
      "off",
    ];
    // It is started from a terminal and has that environment: no shell need be asked for another.
    const more = ["--reconnection-grace-time", "10", "--force-disable-user-env"];
    const child = spawn(process.execPath, [MAIN, ...args, ...more, ...this.#places()], {
      env: { ...this.#env(), ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        said = (said + chunk).slice(-10_000);
      });
    }
    const origin = `http://127.0.0.1:${free}`;
    try {
      await listening(`${origin}/version`, child);
    } catch (error) {
      await ended(child);
      throw new Error(`${said}\n${error.message}`);
    }
    const url = (folder, query = {}) =>
      `${origin}/?${new URLSearchParams({ tkn: token, ...(folder ? { folder } : {}), ...query })}`;
    return { url, origin, process: child, end: () => ended(child) };
  }

  #places() {
    const data = ["--server-data-dir", join(this.folder, "server"), "--user-data-dir", join(this.folder, "data")];
    return [...data, "--extensions-dir", join(this.folder, "extensions"), "--accept-server-license-terms"];
  }

  #env() {
    const home = join(this.folder, "home");
    mkdirSync(home, { recursive: true });
    return { ...process.env, HOME: home };
  }
}

/** Waits until an address answers. */
async function listening(url, child) {
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`The editor ended with ${child.exitCode}.`);
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  throw new Error("The editor does not listen.");
}

/** Ends the editor with all that it started. */
function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const signal = (name) => {
    try {
      if (process.platform === "win32") child.kill(name);
      else process.kill(-child.pid, name);
    } catch {
      // It has ended meanwhile.
    }
  };
  return new Promise((resolve) => {
    const hard = setTimeout(() => signal("SIGKILL"), END_MS);
    child.once("exit", () => {
      clearTimeout(hard);
      signal("SIGKILL");
      resolve();
    });
    signal("SIGTERM");
  });
}

/** The port if it is free, or else another one. */
function freePort(port) {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", () => (port ? resolve(freePort(0)) : reject(new Error("No port is free."))));
    probe.listen(port, "127.0.0.1", () => {
      const free = probe.address().port;
      probe.close(() => resolve(free));
    });
  });
}

function ripgrep() {
  const name = process.platform === "win32" ? "rg.exe" : "rg";
  const path = join(FOLDER, "node_modules", "@vscode", `ripgrep-${process.platform}-${process.arch}`, "bin", name);
  return existsSync(path) ? path : undefined;
}

function link(target, path) {
  rmSync(path, { force: true, recursive: true });
  symlinkSync(target, path);
}
