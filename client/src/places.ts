// The places that a report names: how a person calls them, and how they are shown.

import { basename } from "node:path";
import * as vscode from "vscode";
import { textOf } from "./logging";

interface Located {
  uri: vscode.Uri;
  /** The line in that document, from 0. */
  line: number;
  /** The cell's number from 1, where the document is a cell. */
  cell?: number;
}

/** What a person calls a line, counted from 1 in the program: `train.py:17`, or `cell 4:3` in a notebook. */
export function nameOf(path: string, line: number): string {
  const { cell, line: own } = locate(path, line);
  return cell === undefined ? `${basename(path)}:${line}` : `cell ${cell}:${own + 1}`;
}

/**
 * Shows a line, counted from 1 in the program.
 *
 * @param path a path, or the URI of a document that has none
 * @param from the document that was run: its column is where a file is opened
 */
export async function openPlace(path: string, line: number, from: vscode.Uri): Promise<void> {
  const { uri, line: own, cell } = locate(path, line);
  const selection = new vscode.Range(own, 0, own, 0);
  try {
    if (cell !== undefined) {
      const notebook = await vscode.workspace.openNotebookDocument(vscode.Uri.file(path));
      const column = vscode.window.visibleNotebookEditors.find((editor) => editor.notebook === notebook)?.viewColumn;
      const selections = [new vscode.NotebookRange(cell - 1, cell)];
      await vscode.window.showNotebookDocument(notebook, { selections, ...(column ? { viewColumn: column } : {}) });
    }
    const column = vscode.window.visibleTextEditors.find(
      ({ document }) => document.uri.toString() === from.toString(),
    )?.viewColumn;
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { selection, ...(column ? { viewColumn: column } : {}) });
  } catch (error) {
    void vscode.window.showWarningMessage(`${path} cannot be opened: ${textOf(error)}`);
  }
}

/** Finds a line of a program; those of a notebook count through its cells of Python, one after another. */
function locate(path: string, line: number): Located {
  const notebook = vscode.workspace.notebookDocuments.find(({ uri }) => uri.fsPath === path);
  let first = 1;
  for (const { kind, document, index } of notebook?.getCells() ?? []) {
    if (kind !== vscode.NotebookCellKind.Code || document.languageId !== "python") continue;
    if (line < first + document.lineCount) return { uri: document.uri, line: line - first, cell: index + 1 };
    first += document.lineCount;
  }
  const isUri = /^[a-z][a-z-]+:/i.test(path) && !/^[a-z]:[\\/]/i.test(path);
  return { uri: isUri ? vscode.Uri.parse(path) : vscode.Uri.file(path), line: line - 1 };
}
