// Which documents the language server is asked about.

import type * as vscode from "vscode";

const LANGUAGE = "python";
export const NOTEBOOK_TYPES = ["jupyter-notebook", "interactive"] as const;

/** Python files, unsaved ones too, and the cells of notebooks and interactive windows. */
export const DOCUMENTS: { language: string; scheme?: string; notebook?: string }[] = [
  { language: LANGUAGE, scheme: "file" },
  { language: LANGUAGE, scheme: "untitled" },
  ...NOTEBOOK_TYPES.map((notebook) => ({ language: LANGUAGE, notebook })),
];

/** Whether a document is one that the server looks at. */
export function isOurs(document: vscode.TextDocument): boolean {
  return document.languageId === LANGUAGE && ["file", "untitled", "vscode-notebook-cell"].includes(document.uri.scheme);
}
