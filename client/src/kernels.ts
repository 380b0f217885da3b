// The kernel that a notebook has, through the public API of the Jupyter extension: whether to use it, and its use.

import * as vscode from "vscode";
import { log, textOf } from "./logging";
import { SECTION, setting } from "./settings";

const JUPYTER = "ms-toolsai.jupyter";
const REVOKED = "vscode.jupyter.apiAccessRevoked";
const GONE = ["dead", "terminating"];

/** The part of the Jupyter extension's API that is used here. */
interface JupyterApi {
  kernels?: { getKernel(notebook: vscode.Uri): Thenable<Kernel | undefined> };
}

/** A kernel that a person has started. */
export interface Kernel {
  readonly status: string;
  readonly language: string;
  executeCode(
    code: string,
    token: vscode.CancellationToken,
  ): AsyncIterable<{ items: { mime: string; data: Uint8Array }[] }>;
}

/** Where a cell runs: in a process of its own, or in the kernel, and what becomes there of models and optimizers. */
export type Where = "process" | "keep" | "restore";

/** What the server has a client execute. */
export interface Execution {
  uri: string;
  code: string;
  passKind: string;
  reportKind: string;
}

const BY_SETTING: Record<string, Where> = { never: "process", always: "keep", alwaysRestore: "restore" };

interface Item extends vscode.QuickPickItem {
  where: Where;
  value: string;
}

/** The live kernel of a notebook; undefined where none was started, or nothing is installed that has kernels. */
export async function kernelOf(notebook: vscode.Uri): Promise<Kernel | undefined> {
  const extension = vscode.extensions.getExtension<JupyterApi>(JUPYTER);
  // Where it is not active yet, nobody has started a kernel.
  if (!extension?.isActive) return undefined;
  try {
    const kernel = await extension.exports?.kernels?.getKernel(notebook);
    return kernel?.language === "python" && !GONE.includes(kernel.status) ? kernel : undefined;
  } catch (error) {
    log.warn(`the Jupyter extension names no kernel: ${textOf(error)}`);
    return undefined;
  }
}

/** Where a cell of a notebook that has a kernel shall run; undefined where the person thinks better of it. */
export async function whereToRun(notebook: vscode.Uri): Promise<Where | undefined> {
  const wanted = setting<string>("run.inKernel", notebook) ?? "ask";
  return BY_SETTING[wanted] ?? ask();
}

/**
 * Executes code in a kernel.
 *
 * @param passed told of each pass of the step
 * @returns the JSON text of the report; null where it was cancelled, or the kernel ended before there was one
 * @throws Error the kernel, or the person whom the Jupyter extension asks, does not allow it
 */
export async function execute(
  execution: Execution,
  token: vscode.CancellationToken,
  passed: () => void,
): Promise<string | null> {
  const kernel = await kernelOf(vscode.Uri.parse(execution.uri));
  if (!kernel) throw new Error("the notebook has no kernel any more");
  let report: string | null = null;
  try {
    for await (const { items } of kernel.executeCode(execution.code, token)) {
      for (const { mime, data } of items) {
        if (mime === execution.passKind) passed();
        if (mime === execution.reportKind) report = new TextDecoder().decode(data);
      }
    }
  } catch (error) {
    if (token.isCancellationRequested) return null;
    if (error instanceof Error && error.name === REVOKED) {
      const way = "allow it with the command “Jupyter: Manage Access To Jupyter Kernels”, or run in a fresh process";
      throw new Error(`the Jupyter extension was told to keep GradSense from the kernel; ${way}`);
    }
    throw error;
  }
  return report;
}

function ask(): Promise<Where | undefined> {
  const pin = { iconPath: new vscode.ThemeIcon("pin"), tooltip: "Always run cells so (gradsense.run.inKernel)" };
  const item = (label: string, detail: string, where: Where, value: string): Item => ({
    label,
    detail,
    where,
    value,
    buttons: [pin],
  });
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = "GradSense: Where Shall the Cell Run?";
  pick.placeholder = "The notebook has a live kernel. The pin of an entry makes it the rule.";
  pick.items = [
    item(
      "$(server-process) Run in a fresh process",
      "Runs the cells up to this one anew. The kernel stays as it is.",
      "process",
      "never",
    ),
    item(
      "$(notebook-kernel-select) Run in the notebook's kernel (changes its state)",
      "Runs this cell alone, a few passes of it, with the variables that are there.",
      "keep",
      "always",
    ),
    item(
      "$(discard) Run in the notebook's kernel, then put models back",
      "The same; afterwards models, optimizers and random numbers are as they were.",
      "restore",
      "alwaysRestore",
    ),
  ];
  return new Promise((resolve) => {
    let chosen: Where | undefined;
    const take = ({ where }: Item) => {
      chosen = where;
      pick.hide();
    };
    pick.onDidTriggerItemButton(({ item }) => {
      void vscode.workspace
        .getConfiguration(SECTION)
        .update("run.inKernel", item.value, vscode.ConfigurationTarget.Global);
      take(item);
    });
    pick.onDidAccept(() => {
      const [item] = pick.selectedItems;
      if (item) take(item);
    });
    pick.onDidHide(() => {
      pick.dispose();
      resolve(chosen);
    });
    pick.show();
  });
}
