// "Explain a torch Error": a traceback from a terminal or a notebook, and what it means for the open file.

import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";
import { log, textOf } from "./logging";
import { openPlace } from "./places";
import type { Server } from "./server";

interface Explanation {
  code?: string | null;
  title?: string;
  markdown?: string;
  location?: { uri: string; range: { start: { line: number; character: number } } } | null;
}

const EXPLAIN = "gradsense.explain";
const LOOKS_LIKE_ERROR = /Traceback|Error|Exception|backward/;

/** Explains the selected error, or the one on the clipboard, or one that is pasted. */
export async function explainError(server: Server): Promise<void> {
  const client = server.client;
  if (!client) {
    void vscode.window.showWarningMessage("The GradSense server is not ready yet; try again in a moment.");
    return;
  }
  const text = await theError();
  if (!text) return;
  const uri = vscode.window.activeTextEditor?.document.uri.toString();
  let found: Explanation | null;
  try {
    const argument = { text, ...(uri ? { uri } : {}) };
    found = await client.sendRequest(ExecuteCommandRequest.type, { command: EXPLAIN, arguments: [argument] });
  } catch (error) {
    log.error(`no explanation: ${textOf(error)}`);
    void vscode.window.showErrorMessage(`The error could not be explained: ${textOf(error)}`);
    return;
  }
  if (!found?.title) {
    void vscode.window.showInformationMessage("This does not look like an error of torch's autograd.");
    return;
  }
  await tell(found);
}

async function tell({ title = "", markdown = "", location }: Explanation): Promise<void> {
  const go = "Go to Line";
  const read = "Read";
  const answer = await vscode.window.showInformationMessage(
    `${title.charAt(0).toUpperCase()}${title.slice(1)}.`,
    ...(location ? [go] : []),
    ...(markdown ? [read] : []),
  );
  if (answer === go && location) {
    await openPlace(location.uri, location.range.start.line + 1, vscode.Uri.parse(location.uri));
  }
  if (answer === read) {
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content: markdown });
    await vscode.commands.executeCommand("markdown.showPreview", document.uri);
  }
}

async function theError(): Promise<string | undefined> {
  const editor = vscode.window.activeTextEditor;
  const selected = editor?.document.getText(editor.selection) ?? "";
  if (LOOKS_LIKE_ERROR.test(selected)) return selected;
  const copied = await vscode.env.clipboard.readText();
  if (LOOKS_LIKE_ERROR.test(copied)) return copied;
  return vscode.window.showInputBox({
    title: "Explain a torch Error",
    prompt: "Copy a traceback and call this again, or paste the line with the error here.",
    placeHolder: "RuntimeError: one of the variables needed for gradient computation has been modified ...",
  });
}
