// The commands of the palette, the menus and the keyboard.

import * as vscode from "vscode";
import { explainError } from "./explainError";
import type { Interpreters } from "./interpreter";
import { log } from "./logging";
import type { ReportView } from "./reportView";
import type { Runs, Step } from "./runs";
import type { Server } from "./server";
import { cellAtHand, fileAtHand, selectionAtHand } from "./targets";
import { openExample } from "./walkthrough";

const FIX_ALL = "source.fixAll.gradsense";
const WALKTHROUGH = "gradsense.gradsense#start";

/** Registers them all. */
export function registerCommands(
  context: vscode.ExtensionContext,
  server: Server,
  runs: Runs,
  reports: ReportView,
  interpreters: Interpreters,
): vscode.Disposable[] {
  const on = (name: string, action: (...args: never[]) => unknown) =>
    vscode.commands.registerCommand(`gradsense.${name}`, action);
  const run = (step: Step | undefined) => (step ? runs.run(step) : tellNothing());
  return [
    on("run.cell", (cell?: unknown) => run(cellAtHand(asCell(cell)))),
    on("run.file", () => run(fileAtHand())),
    on("run.selection", () => run(selectionAtHand())),
    on("run.again", () => runs.again()),
    on("run.cancel", () => runs.cancel()),
    on("run.clear", () => runs.clear()),
    on("showReport", () => reports.show()),
    on("explainError", () => explainError(server)),
    on("fixAll", () => fixAll()),
    on("restart", () => server.restart("asked for")),
    on("selectInterpreter", () => interpreters.select()),
    on("showLog", () => log.show()),
    on("showMenu", () => showMenu(server, runs)),
    on("openExample", () => openExample(context)),
    on("openWalkthrough", () => vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH)),
  ];
}

/** VS Code hands a cell where the command stands on one, and other things elsewhere. */
function asCell(value: unknown): vscode.NotebookCell | undefined {
  return typeof value === "object" && value !== null && "notebook" in value && "document" in value
    ? (value as vscode.NotebookCell)
    : undefined;
}

function tellNothing(): void {
  void vscode.window.showInformationMessage("Open a Python file or a notebook, and put the cursor on what is to run.");
}

async function fixAll(): Promise<void> {
  await vscode.commands.executeCommand("editor.action.codeAction", { kind: FIX_ALL, apply: "first" });
  await vscode.commands.executeCommand("setContext", "gradsense.applied", true);
}

async function showMenu(server: Server, runs: Runs): Promise<void> {
  const entry = (label: string, command: string) => ({ label, command });
  const entries = [
    ...(server.health.state === "noInterpreter"
      ? [entry("$(gear) Select Interpreter", "gradsense.selectInterpreter")]
      : []),
    runs.busy
      ? entry("$(debug-stop) Cancel the Run", "gradsense.run.cancel")
      : entry("$(beaker) Run Step Under Anomaly Detection", "gradsense.run.cell"),
    entry("$(graph-line) Show Report of the Run", "gradsense.showReport"),
    entry("$(wand) Fix All That Can Be Fixed Safely", "gradsense.fixAll"),
    entry("$(question) Explain a torch Error", "gradsense.explainError"),
    entry("$(list-unordered) Show Problems", "workbench.actions.view.problems"),
    entry("$(debug-restart) Restart Server", "gradsense.restart"),
    entry("$(output) Show Log", "gradsense.showLog"),
    { ...entry("$(settings-gear) Settings", "workbench.action.openSettings"), argument: "gradsense" },
  ];
  const chosen = await vscode.window.showQuickPick(entries, { title: "GradSense" });
  if (chosen) await vscode.commands.executeCommand(chosen.command, ...("argument" in chosen ? [chosen.argument] : []));
}
