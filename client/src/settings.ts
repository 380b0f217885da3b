// The settings under "gradsense", as the client reads them and as the server is told them.

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";

export const SECTION = "gradsense";

/** Settings that are no business of the server's. */
const CLIENT_ONLY = ["importStrategy", "path", "trace", "gutterMarks"];
const CLIENT_ONLY_OF_RUN = ["openReport", "inKernel"];

/** The path of the workspace folder that a resource is in, or of the first one. */
export function folderOf(scope: vscode.Uri | undefined): string | undefined {
  const folder = scope && vscode.workspace.getWorkspaceFolder(scope);
  return (folder ?? vscode.workspace.workspaceFolders?.[0])?.uri.fsPath;
}

/** A setting of a resource, or of the window. */
export function setting<T>(name: string, scope?: vscode.ConfigurationScope): T | undefined {
  return vscode.workspace.getConfiguration(SECTION, scope).get<T>(name);
}

/**
 * What the server is told: the section without what concerns only the client, and with what only the client knows.
 *
 * @param section the value of "gradsense" for a resource
 * @param interpreter the Python of the user's program, as a command, where one was found
 */
export function forServer(section: unknown, interpreter: readonly string[] | undefined, trusted: boolean): object {
  const { ...settings } = (section ?? {}) as Record<string, unknown>;
  for (const name of CLIENT_ONLY) delete settings[name];
  if (isObject(settings.run)) {
    const { ...run } = settings.run;
    for (const name of CLIENT_ONLY_OF_RUN) delete run[name];
    settings.run = run;
  }
  settings.interpreter = interpreter ?? [];
  settings.trusted = trusted;
  return settings;
}

/**
 * A command given as text or as a list of its parts; undefined where it is empty.
 *
 * `~`, `${userHome}`, `${workspaceFolder}` and `${env:NAME}` stand for what they do elsewhere in VS Code, and a program
 * with a folder in its name lies in the workspace folder, where its name is not a whole path.
 *
 * @param folder the path of the workspace folder
 */
export function asCommand(value: unknown, folder: string | undefined): string[] | undefined {
  const parts = (typeof value === "string" ? [value] : Array.isArray(value) ? value : []).map(String);
  if (!parts[0]?.trim()) return undefined;
  const [program = "", ...args] = parts.map((part) => expand(part.trim(), folder));
  const inFolder = folder && /[\\/]/.test(program) && !isAbsolute(program);
  return [inFolder ? join(folder, program) : program, ...args];
}

function expand(text: string, folder: string | undefined): string {
  return text
    .replace(/^~(?=$|[\\/])|\$\{userHome\}/g, () => homedir())
    .replace(/\$\{workspaceFolder\}/g, (whole) => folder ?? whole)
    .replace(/\$\{env:([^}]+)\}/g, (_, name: string) => process.env[name] ?? "");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
