// The places that a report names: how a person calls them, and how they are shown.

import { basename } from "node:path";
import * as vscode from "vscode";
import { textOf } from "./logging";

/** What Python calls the text of a call that a person selected. */
const CALL = "<call>";

interface Located {
  uri: vscode.Uri;
  /** The line in that document, from 0. */
  line: number;
  /** The cell of a notebook that the document is. */
  cell?: vscode.NotebookCell;
}

/** What a person calls a line, counted from 1: `train.py:17`, or `cell 4, line 3` in a notebook. */
export function nameOf(path: string, line: number): string {
  if (path === CALL) return "the call that was asked for";
  const { uri, cell } = locate(path, line);
  return cell ? `cell ${cell.index + 1}, line ${line}` : `${basename(uri.path)}:${line}`;
}

/** The same within a sentence, for a person who looks at what was run: `on line 17`, `in cell 4, line 3`. */
export function phraseOf(from: vscode.Uri): (path: string, line: number) => string {
  return (path, line) => {
    if (path === CALL) return "in the call that was asked for";
    const { uri, cell } = locate(path, line);
    if (cell) return `in cell ${cell.index + 1}, line ${line}`;
    return uri.toString() === from.toString() ? `on line ${line}` : `in ${basename(uri.path)}, line ${line}`;
  };
}

/** What a person calls a cell that is named by its URI: its place among all cells, those with text too. */
export function cellName(uri: string): string {
  const { cell } = locate(uri, 1);
  return cell ? `cell ${cell.index + 1}` : "a cell";
}

/**
 * Shows a line, counted from 1.
 *
 * @param path a path, or the URI of a cell or of a document that has none
 * @param from the document that was run: its column is where a file is opened
 */
export async function openPlace(path: string, line: number, from: vscode.Uri): Promise<void> {
  const { uri, line: own, cell } = locate(path, line);
  const selection = new vscode.Range(own, 0, own, 0);
  try {
    if (cell) {
      const { notebook, index } = cell;
      const column = vscode.window.visibleNotebookEditors.find((editor) => editor.notebook === notebook)?.viewColumn;
      const selections = [new vscode.NotebookRange(index, index + 1)];
      await vscode.window.showNotebookDocument(notebook, { selections, ...(column ? { viewColumn: column } : {}) });
      return;
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

/** Finds a line: in the cell or document that a URI names, or in a file. */
function locate(path: string, line: number): Located {
  const isUri = /^[a-z][a-z-]+:/i.test(path) && !/^[a-z]:[\\/]/i.test(path);
  const uri = isUri ? vscode.Uri.parse(path) : vscode.Uri.file(path);
  const cells = vscode.workspace.notebookDocuments.flatMap((notebook) => notebook.getCells());
  const cell = cells.find(({ document }) => document.uri.toString() === uri.toString());
  return { uri, line: line - 1, ...(cell ? { cell } : {}) };
}
