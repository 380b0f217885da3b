// Which Python runs the language server, and which one runs the user's programs.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { askPython, type Candidate, type Choice, choose, OLDEST, whyUnfit } from "./choosing";
import { chooserCommand, fromEnvironments, fromPythonExtension, watchEnvironments } from "./environments";
import { log, textOf } from "./logging";
import { asCommand, folderOf, SECTION, setting } from "./settings";

const ON_PATH =
  process.platform === "win32"
    ? [["py", "-3"], ["python"], ["python3"]]
    : [["python3"], ["python"], ...[14, 13, 12, 11, 10].map((minor) => [`python3.${minor}`])];

/** Finds Pythons, and tells when another one is chosen. */
export class Interpreters implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly watch = watchEnvironments(() => this.changed.fire());
  /** Another Python was chosen in one of the extensions that manage them. */
  readonly onDidChange = this.changed.event;

  constructor(private readonly context: vscode.ExtensionContext) {}

  dispose(): void {
    this.watch.dispose();
    this.changed.dispose();
  }

  /** The Pythons for a resource; what was passed over is in the log. */
  async choose(scope: vscode.Uri | undefined): Promise<Choice> {
    const carried = carriedSuffixes(this.context.extensionPath);
    const choice = await choose(this.candidates(scope), askPython, (python) => whyUnfit(python, carried));
    for (const { source, command, why } of choice.refusals) log.info(`not ${command.join(" ")} (${source}): ${why}`);
    return choice;
  }

  /** The Python that was chosen for the user's programs, as a command; where none was, the server looks for one. */
  async program(scope: vscode.Uri | undefined): Promise<readonly string[] | undefined> {
    for await (const candidate of this.chosen(scope)) return candidate.command;
    return undefined;
  }

  /** Says that no Python fits, with a way out. */
  async tellNone(choice: Choice): Promise<void> {
    const pick = "Select Interpreter";
    const show = "Show Log";
    const nearest = choice.refusals[0];
    const tried = nearest ? ` ${nearest.command.join(" ")}: ${nearest.why}.` : "";
    const text = `GradSense needs a CPython ${OLDEST.join(".")} or newer and found none that fits.${tried}`;
    const answer = await vscode.window.showErrorMessage(text, pick, show);
    if (answer === pick) await this.select();
    if (answer === show) log.show();
  }

  /** Lets the person choose a Python. */
  async select(): Promise<void> {
    const command = chooserCommand();
    if (command) await vscode.commands.executeCommand(command);
    else await vscode.commands.executeCommand("workbench.action.openSettings", `${SECTION}.interpreter`);
  }

  private async *candidates(scope: vscode.Uri | undefined): AsyncGenerator<Candidate> {
    yield* this.chosen(scope);
    for (const command of ON_PATH) yield { source: "the search path", command };
  }

  private async *chosen(scope: vscode.Uri | undefined): AsyncGenerator<Candidate> {
    const set = asCommand(setting("interpreter", scope), folderOf(scope));
    if (set) yield { source: "the setting gradsense.interpreter", command: set };
    // What these extensions choose may lie in the workspace, and so must not be started before it is trusted.
    if (vscode.workspace.isTrusted) {
      for (const [source, find] of [
        ["the Python Environments extension", fromEnvironments],
        ["the Python extension", fromPythonExtension],
      ] as const) {
        try {
          const command = await find(scope);
          if (command) yield { source, command };
        } catch (error) {
          log.warn(`${source} names no Python: ${textOf(error)}`);
        }
      }
    }
  }
}

/** The endings of the native modules that the extension carries, one for each Python that can run the server. */
function carriedSuffixes(extensionPath: string): string[] {
  const folder = join(extensionPath, "server", "libs", "libcst");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith("native."))
    .map((name) => name.slice("native".length));
}
