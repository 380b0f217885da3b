// The command that starts the language server.

import { execFile } from "node:child_process";
import { join } from "node:path";
import type { Python } from "./choosing";
import { asCommand, folderOf, setting } from "./settings";

export interface Launch {
  command: string;
  args: string[];
  cwd: string;
}

const LIMIT_MS = 15_000;

/**
 * The command for the server, or undefined where there is no Python for it.
 *
 * The working folder is the extension's own: Python may import from where it is started, and nothing of the user's may
 * be run that way.
 *
 * @param python the interpreter that was chosen to run the server
 */
export async function launchOf(extensionPath: string, python: Python | undefined): Promise<Launch | undefined> {
  const cwd = extensionPath;
  const own = asCommand(setting("path"), folderOf(undefined));
  if (own) return { command: own[0] as string, args: [...own.slice(1), "server"], cwd };
  if (!python) return undefined;
  const [command = "", ...args] = python.command;
  if (setting("importStrategy") === "fromEnvironment" && (await hasGradSense(python, cwd))) {
    return { command, args: [...args, "-m", "gradsense", "server"], cwd };
  }
  // Isolated, so that no variable and no folder of the user's decides what the server imports.
  return { command, args: [...args, "-I", "-X", "utf8", join(extensionPath, "server", "launch.py"), "server"], cwd };
}

function hasGradSense(python: Python, cwd: string): Promise<boolean> {
  const [program = "", ...args] = python.command;
  return new Promise((resolve) => {
    const question = [...args, "-c", "import gradsense.lsp"];
    execFile(program, question, { cwd, timeout: LIMIT_MS, windowsHide: true }, (error) => resolve(!error));
  });
}
