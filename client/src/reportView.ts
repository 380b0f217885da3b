// The panel that shows the report of the last run.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { nameOf, openPlace, phraseOf } from "./places";
import type { Report } from "./report";
import { reportPage } from "./reportHtml";
import { reportText } from "./reportText";

interface Shown {
  report: Report;
  title: string;
  uri: vscode.Uri;
}

/** One panel, beside the editor; another report replaces the one before. */
export class ReportView implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private last: Shown | undefined;

  constructor(private readonly context: vscode.ExtensionContext) {}

  dispose(): void {
    this.panel?.dispose();
  }

  /** Whether a report is in view. */
  get visible(): boolean {
    return this.panel?.visible ?? false;
  }

  /** Takes note of a report, and shows it where the panel is open. */
  take(report: Report, title: string, uri: vscode.Uri): void {
    this.last = { report, title, uri };
    void vscode.commands.executeCommand("setContext", "gradsense.hasReport", true);
    if (this.panel) this.fill(this.panel, this.last);
  }

  /** Forgets the report. */
  clear(): void {
    this.last = undefined;
    void vscode.commands.executeCommand("setContext", "gradsense.hasReport", false);
    this.panel?.dispose();
  }

  /** Opens the panel with the last report. */
  show(): void {
    if (!this.last) {
      void vscode.window.showInformationMessage("No step has been run yet.");
      return;
    }
    if (!this.panel) {
      const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
      const panel = vscode.window.createWebviewPanel("gradsense.report", "GradSense Report", column, {
        enableScripts: true,
        localResourceRoots: [this.media()],
      });
      panel.iconPath = vscode.Uri.joinPath(this.media(), "icon.png");
      panel.webview.onDidReceiveMessage((message) => this.receive(message));
      panel.onDidDispose(() => {
        this.panel = undefined;
      });
      this.panel = panel;
    }
    this.fill(this.panel, this.last);
    this.panel.reveal(undefined, true);
  }

  private fill({ webview }: vscode.WebviewPanel, { report, title, uri }: Shown): void {
    const asset = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(this.media(), name)).toString();
    const assets = {
      style: asset("report.css"),
      script: asset("report.js"),
      cspSource: webview.cspSource,
      nonce: randomBytes(16).toString("base64url"),
    };
    webview.html = reportPage(report, title, assets, { name: nameOf, phrase: phraseOf(uri) });
  }

  private async receive(message: { action?: string; path?: string; line?: number }): Promise<void> {
    if (!this.last) return;
    if (message.action === "copy") {
      const { report, title, uri } = this.last;
      await vscode.env.clipboard.writeText(reportText(report, title, phraseOf(uri)));
      vscode.window.setStatusBarMessage("GradSense: the report is on the clipboard", 4_000);
    } else if (message.action === "again") {
      await vscode.commands.executeCommand("gradsense.run.again");
    } else if (message.path && message.line) {
      await openPlace(message.path, message.line, this.last.uri);
    }
  }

  private media(): vscode.Uri {
    return vscode.Uri.joinPath(this.context.extensionUri, "client", "media");
  }
}
