// What a person means by "this cell", "this file" and "this selection".

import * as vscode from "vscode";
import type { Step } from "./runs";

const CALL = /^[A-Za-z_][\w.]*\(.*\)$/s;

/** The cell, function or loop at the cursor; in a notebook, a cell given or the one selected. */
export function cellAtHand(cell?: vscode.NotebookCell): Step | undefined {
  const notebook = vscode.window.activeNotebookEditor;
  const chosen = cell ?? (notebook?.selection ? notebook.notebook.cellAt(notebook.selection.start) : undefined);
  if (chosen) return { uri: chosen.notebook.uri.toString(), cell: chosen.document.uri.toString() };
  const editor = vscode.window.activeTextEditor;
  return editor && { uri: editor.document.uri.toString(), line: editor.selection.active.line };
}

/** The whole file. */
export function fileAtHand(): Step | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && { uri: editor.document.uri.toString() };
}

/** A selected call is called after the program's definitions; of selected lines, the program runs up to the last. */
export function selectionAtHand(): Step | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return undefined;
  const uri = editor.document.uri.toString();
  const text = editor.document.getText(editor.selection).trim();
  if (CALL.test(text)) return { uri, call: text };
  const { end } = editor.selection;
  return { uri, line: end.character === 0 && !editor.selection.isEmpty ? Math.max(0, end.line - 1) : end.line };
}
