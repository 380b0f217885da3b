// The item in the status bar: how the server is, what was found in the file at hand, whether a step runs.

import * as vscode from "vscode";
import type { Runs } from "./runs";
import { isOurs, NOTEBOOK_TYPES } from "./selectors";
import type { Health, Server } from "./server";
import { SOURCES } from "./story";

/** What the item shows. */
export interface Face {
  text: string;
  tooltip: string;
  alarm: boolean;
}

/** The item's words, from what is known. */
export function faceOf(health: Health, findings: number, running: boolean): Face {
  const calm = (text: string, tooltip: string): Face => ({ text, tooltip, alarm: false });
  const alarm = (tooltip: string): Face => ({ text: "$(warning) GradSense", tooltip, alarm: true });
  switch (health.state) {
    case "starting":
      return calm("$(loading~spin) GradSense", "GradSense: the server starts");
    case "off":
      return calm("$(circle-slash) GradSense", "GradSense: the server is off");
    case "down":
      return alarm(`GradSense: the server ended, and is started again in ${health.retryMs / 1000} s`);
    case "failed":
      return alarm("GradSense: the server ended too often and is left alone. Click to restart it or to see the log");
    case "noInterpreter":
      return alarm("GradSense: no Python fits. Click to choose one");
    case "ready": {
      const about = `GradSense ${health.version}${health.python ? ` on Python ${health.python}` : ""}`;
      if (running) return calm("$(loading~spin) GradSense: running", `${about}\nA step runs. Click to cancel it`);
      if (findings === 0) return calm("$(check) GradSense", `${about}\nNothing found here`);
      return calm(
        `$(graph-line) GradSense: ${findings}`,
        `${about}\n${findings} ${findings === 1 ? "finding" : "findings"} here`,
      );
    }
  }
}

/** The item itself. */
export class Status implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("gradsense.status", vscode.StatusBarAlignment.Right, 90);
  private readonly watches: vscode.Disposable;

  constructor(
    private readonly server: Server,
    private readonly runs: Runs,
  ) {
    this.item.name = "GradSense";
    this.item.command = "gradsense.showMenu";
    const renew = () => this.renew();
    this.watches = vscode.Disposable.from(
      server.onDidChangeHealth(renew),
      runs.onDidChange(renew),
      vscode.languages.onDidChangeDiagnostics(renew),
      vscode.window.onDidChangeActiveTextEditor(renew),
      vscode.window.onDidChangeActiveNotebookEditor(renew),
    );
    renew();
  }

  dispose(): void {
    this.watches.dispose();
    this.item.dispose();
  }

  private renew(): void {
    const documents = documentsAtHand();
    const { health } = this.server;
    if (documents.length === 0 && (health.state === "ready" || health.state === "off")) {
      this.item.hide();
      return;
    }
    const face = faceOf(health, countFindings(documents), this.runs.busy);
    this.item.text = face.text;
    this.item.tooltip = face.tooltip;
    this.item.backgroundColor = face.alarm ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.item.show();
  }
}

/** The documents that the person looks at: a file, or all cells of a notebook. */
function documentsAtHand(): vscode.TextDocument[] {
  const notebook = vscode.window.activeNotebookEditor?.notebook;
  if (notebook && NOTEBOOK_TYPES.some((type) => type === notebook.notebookType)) {
    return notebook.getCells().map((cell) => cell.document);
  }
  const document = vscode.window.activeTextEditor?.document;
  return document && isOurs(document) ? [document] : [];
}

function countFindings(documents: readonly vscode.TextDocument[]): number {
  return documents
    .flatMap((document) => vscode.languages.getDiagnostics(document.uri))
    .filter((diagnostic) => SOURCES.includes(diagnostic.source ?? "")).length;
}
