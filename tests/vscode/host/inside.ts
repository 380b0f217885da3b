// What the suites inside the extension host share: running their tests, and waiting for what they look at.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as vscode from "vscode";
import type { Api } from "../../../client/src/extension";

export const ID = "gradsense.gradsense";
const LIMIT_MS = 40_000;

export type Tests = Record<string, (api: Api) => Promise<void>>;

/** Runs tests one after the other; the first that fails ends the suite. */
export async function runTests(tests: Tests, first: string): Promise<void> {
  const extension = vscode.extensions.getExtension<Api>(ID);
  assert.ok(extension, "the extension is not installed");
  await show(first);
  const api = await extension.activate();
  await api.ready();
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(api);
      console.log(`ok ${name}`);
    } catch (error) {
      throw new Error(`${name}: ${error instanceof Error ? error.stack : error}`);
    }
  }
}

/** Opens a file of the first folder, or of the one that is named before a colon. */
export async function show(name: string): Promise<vscode.TextDocument> {
  const [file = "", folder] = name.split(":").reverse();
  const root = vscode.workspace.workspaceFolders?.find((one) => !folder || one.name === folder)?.uri as vscode.Uri;
  const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(root, file));
  await vscode.window.showTextDocument(document);
  return document;
}

export function diagnostics(uri: vscode.Uri, atLeast: number): Promise<vscode.Diagnostic[]> {
  return until(() => {
    const found = vscode.languages.getDiagnostics(uri).filter(({ source }) => source === "gradsense");
    assert.ok(found.length >= atLeast, `${found.length} findings in ${uri.path}`);
    return found;
  });
}

export function actionsAt(
  uri: vscode.Uri,
  range: vscode.Range | undefined,
  kind: string,
): Thenable<vscode.CodeAction[]> {
  return vscode.commands.executeCommand("vscode.executeCodeActionProvider", uri, range, kind);
}

export function codeOf(diagnostic: vscode.Diagnostic | undefined): string {
  const code = diagnostic?.code;
  return String(typeof code === "object" ? code.value : code);
}

export function serverCommand(api: Api): string {
  return execFileSync("ps", ["-o", "args=", "-p", String(api.serverPid())], { encoding: "utf8" }).trim();
}

export async function until<T>(attempt: () => T): Promise<T> {
  const deadline = Date.now() + LIMIT_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
