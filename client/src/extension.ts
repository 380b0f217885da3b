// Where VS Code enters: makes the parts and ties them together.

import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { Gutter } from "./gutter";
import { Interpreters } from "./interpreter";
import { log } from "./logging";
import { ReportView } from "./reportView";
import { Runs } from "./runs";
import { Server } from "./server";
import { Status } from "./status";
import { watchFirstFinding } from "./walkthrough";

let server: Server | undefined;

/** What other extensions, and the tests, may ask of this one. */
export interface Api {
  /** Resolves when the language server answers. */
  ready(): Promise<void>;
  /** The process number of the language server, while there is one. */
  serverPid(): number | undefined;
}

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const interpreters = new Interpreters(context);
  const started = new Server(context, interpreters);
  server = started;
  const reports = new ReportView(context);
  const runs = new Runs(started, reports);
  context.subscriptions.push(
    log,
    interpreters,
    started,
    reports,
    runs,
    new Gutter(context),
    new Status(started, runs),
    watchFirstFinding(),
    ...registerCommands(context, started, runs, reports, interpreters),
    vscode.workspace.onDidGrantWorkspaceTrust(() => started.restart("the workspace is trusted now")),
  );
  // Not awaited: the server starts beside the editor, which must not wait for it.
  void started.start();
  return { ready: () => started.ready(), serverPid: () => started.pid };
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
