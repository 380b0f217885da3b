// Ticks off the steps of the walkthrough that have no command of their own.

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
