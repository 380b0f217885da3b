// The walkthrough: its example, and the ticks of those steps that have no command of their own.

import * as vscode from "vscode";
import { SOURCES } from "./story";

/** Notes that a finding has been seen. */
export function watchFirstFinding(): vscode.Disposable {
  const watch = vscode.languages.onDidChangeDiagnostics(({ uris }) => {
    const found = uris.some((uri) =>
      vscode.languages.getDiagnostics(uri).some((diagnostic) => SOURCES.includes(diagnostic.source ?? "")),
    );
    if (!found) return;
    void vscode.commands.executeCommand("setContext", "gradsense.sawFinding", true);
    watch.dispose();
  });
  return watch;
}

/** Opens a program with faults to try things on; it is a copy that belongs to nobody until it is saved. */
export async function openExample(context: vscode.ExtensionContext): Promise<void> {
  const file = vscode.Uri.joinPath(context.extensionUri, "examples", "train.py");
  const content = new TextDecoder().decode(await vscode.workspace.fs.readFile(file));
  const document = await vscode.workspace.openTextDocument({ language: "python", content });
  await vscode.window.showTextDocument(document);
}
