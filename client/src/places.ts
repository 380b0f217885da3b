// Opens the line that a frame of a traceback names.

import * as vscode from "vscode";
import { textOf } from "./logging";

/**
 * Shows a line, counted from 1.
 *
 * @param path a path, or the URI of a document that has none
 * @param from the document that was run: its column is where a file is opened
 */
export async function openPlace(path: string, line: number, from: vscode.Uri): Promise<void> {
  const uri =
    /^[a-z][a-z-]+:/i.test(path) && !/^[a-z]:[\\/]/i.test(path) ? vscode.Uri.parse(path) : vscode.Uri.file(path);
  const column = vscode.window.visibleTextEditors.find(
    ({ document }) => document.uri.toString() === from.toString(),
  )?.viewColumn;
  try {
    const at = new vscode.Position(line - 1, 0);
    const options = { selection: new vscode.Range(at, at), ...(column ? { viewColumn: column } : {}) };
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), options);
  } catch (error) {
    void vscode.window.showWarningMessage(`${path} cannot be opened: ${textOf(error)}`);
  }
}
