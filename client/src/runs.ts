// Runs of a step: asked for, followed, cancelled, and what is told afterwards.

import * as vscode from "vscode";
import {
  ExecuteCommandRequest,
  type LanguageClient,
  type ProgressToken,
  WorkDoneProgress,
} from "vscode-languageclient/node";
import { type Execution, execute, kernelOf, type Where, whereToRun } from "./kernels";
import { log, textOf } from "./logging";
import { cellName, phraseOf } from "./places";
import { isTrouble, type Report, readReport, summaryOf } from "./report";
import type { ReportView } from "./reportView";
import type { Server } from "./server";
import { setting } from "./settings";

/** The argument of the server's command; lines count from 0. */
export interface Step {
  uri: string;
  line?: number;
  cell?: string;
  call?: string;
  device?: string;
  fix?: unknown;
  /** Where a cell of a notebook with a live kernel runs; asked for where it is not said. */
  where?: Where;
}

const RUN = "gradsense.runStep";
const CLEAR = "gradsense.clearRun";
const IN_KERNEL = "gradsense/executeInKernel";

/** What the server tells when a run is over. */
interface Finished {
  uri: string;
  report: unknown;
}

/** At most one run at a time. */
export class Runs implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly watches: vscode.Disposable;
  private current: vscode.CancellationTokenSource | undefined;
  private last: Step | undefined;
  private tokens = 0;
  private passed: () => void = () => {};

  /** A run began or ended. */
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly server: Server,
    private readonly reports: ReportView,
  ) {
    server.intercept = (command, [step]) => (command === RUN && isStep(step) ? this.run(step) : undefined);
    this.watches = server.onDidMakeClient((client) => {
      client.onNotification("gradsense/runFinished", (params: Finished) => this.finished(params));
      client.onRequest(IN_KERNEL, (params: Execution) => this.inKernel(params));
    });
  }

  dispose(): void {
    this.current?.cancel();
    this.watches.dispose();
    this.changed.dispose();
  }

  /** Whether a step runs. */
  get busy(): boolean {
    return this.current !== undefined;
  }

  /** Cancels what runs. */
  cancel(): void {
    this.current?.cancel();
  }

  /** Runs the last step once more. */
  async again(): Promise<void> {
    if (this.last) await this.run(this.last);
  }

  /** Takes the results of a run away. */
  async clear(): Promise<void> {
    const uri = this.last?.uri;
    this.reports.clear();
    if (uri)
      await this.server.client?.sendRequest(ExecuteCommandRequest.type, { command: CLEAR, arguments: [{ uri }] });
  }

  /**
   * Has the server run a step, with a notification that shows how far it is.
   *
   * @returns the report as the server sent it, or undefined where there is none
   */
  async run(asked: Step): Promise<unknown> {
    if (!(await this.mayRun())) return undefined;
    const step = await placed(asked);
    if (!step) return undefined;
    const client = this.server.client;
    if (!client) {
      void vscode.window.showWarningMessage("The GradSense server is not ready yet; try again in a moment.");
      return undefined;
    }
    const source = new vscode.CancellationTokenSource();
    this.become(source);
    this.last = step;
    try {
      return await this.ask(client, step, source);
    } catch (error) {
      if (source.token.isCancellationRequested)
        vscode.window.setStatusBarMessage("GradSense: the run was cancelled", 4_000);
      else void this.tellError(error);
      return undefined;
    } finally {
      this.become(undefined);
      source.dispose();
    }
  }

  private ask(client: LanguageClient, step: Step, source: vscode.CancellationTokenSource): Thenable<unknown> {
    const options = { location: vscode.ProgressLocation.Notification, title: "GradSense", cancellable: true };
    return vscode.window.withProgress(options, async (progress, token) => {
      token.onCancellationRequested(() => source.cancel());
      const workDoneToken: ProgressToken = `gradsense-run-${++this.tokens}`;
      let shown = 0;
      let passes = 0;
      this.passed = () => progress.report({ message: `pass ${++passes} in the kernel` });
      const watch = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
        const share = "percentage" in value && value.percentage !== undefined ? value.percentage : shown;
        const message = value.message ?? ("title" in value ? value.title : undefined);
        progress.report({ increment: Math.max(0, share - shown), ...(message ? { message } : {}) });
        shown = Math.max(shown, share);
      });
      progress.report({ message: "starting the step" });
      try {
        const params = { command: RUN, arguments: [argumentOf(step)], workDoneToken };
        return await client.sendRequest(ExecuteCommandRequest.type, params, source.token);
      } finally {
        this.passed = () => {};
        watch.dispose();
      }
    });
  }

  /** The server has a cell executed in its notebook's kernel: only as a part of a run that the person asked for. */
  private inKernel(execution: Execution): Promise<string | null> {
    const step = this.last;
    if (!this.current || step?.uri !== execution.uri || !inKernel(step) || !vscode.workspace.isTrusted) {
      throw new Error("nobody asked for a run in the kernel");
    }
    return execute(execution, this.current.token, () => this.passed());
  }

  private async mayRun(): Promise<boolean> {
    if (!vscode.workspace.isTrusted) {
      const manage = "Manage Workspace Trust";
      const text = "A step is run only in a trusted workspace: it executes the program.";
      if ((await vscode.window.showWarningMessage(text, manage)) === manage) {
        await vscode.commands.executeCommand("workbench.trust.manage");
      }
      return false;
    }
    if (!this.busy) return true;
    const cancel = "Cancel It";
    if ((await vscode.window.showWarningMessage("Another step runs.", cancel)) === cancel) this.cancel();
    return false;
  }

  private finished({ uri, report: value }: Finished): void {
    const report = readReport(value);
    const step = this.last?.uri === uri ? this.last : { uri };
    this.reports.take(report, titleOf(vscode.Uri.parse(uri), step), vscode.Uri.parse(uri));
    const wanted = setting<string>("run.openReport");
    if (wanted === "always" || (wanted === "onProblem" && isTrouble(report))) this.reports.show();
    // A report that is in view says it all; of a fix that was tried, the server asks whether to take it.
    else if (!report.fix && !this.reports.visible) void this.tell(report, vscode.Uri.parse(uri));
  }

  private async tell(report: Report, uri: vscode.Uri): Promise<void> {
    const text = summaryOf(report, phraseOf(uri));
    const show = "Show Report";
    const clear = "Clear";
    const select = "Select Interpreter";
    const couldNot = report.outcome === "failed";
    const answer = isTrouble(report)
      ? await vscode.window.showWarningMessage(text, ...(couldNot ? [select] : []), show, clear)
      : await vscode.window.showInformationMessage(text, show);
    if (answer === select) await vscode.commands.executeCommand("gradsense.selectInterpreter");
    if (answer === show) this.reports.show();
    if (answer === clear) await this.clear();
  }

  private async tellError(error: unknown): Promise<void> {
    log.error(`the step was not run: ${textOf(error)}`);
    const show = "Show Log";
    const answer = await vscode.window.showErrorMessage(`The step was not run: ${textOf(error)}`, show);
    if (answer === show) log.show();
  }

  private become(source: vscode.CancellationTokenSource | undefined): void {
    this.current = source;
    void vscode.commands.executeCommand("setContext", "gradsense.running", this.busy);
    this.changed.fire();
  }
}

/** A step with the place where it runs; undefined where the person thinks better of it. */
async function placed(step: Step): Promise<Step | undefined> {
  // A fix is tried on a copy, which a kernel does not have.
  if (!step.cell || step.fix || step.where) return step;
  const notebook = vscode.Uri.parse(step.uri);
  if (!(await kernelOf(notebook))) return step;
  const where = await whereToRun(notebook);
  return where && { ...step, where };
}

function inKernel({ where }: Step): boolean {
  return where === "keep" || where === "restore";
}

/** What the server is told of a step. */
function argumentOf(step: Step): object {
  const { where, ...rest } = step;
  return inKernel(step) ? { ...rest, kernel: where } : rest;
}

function isStep(value: unknown): value is Step {
  return typeof value === "object" && value !== null && typeof (value as Step).uri === "string";
}

/** What was run, for the head of the report. */
function titleOf(uri: vscode.Uri, step: Step): string {
  const name = vscode.workspace.asRelativePath(uri, false);
  if (step.call) return `${name}: ${step.call}`;
  if (step.cell) return `${name}, ${cellName(step.cell)}${inKernel(step) ? ", in the kernel" : ""}`;
  return step.line === undefined ? name : `${name}, line ${step.line + 1}`;
}
