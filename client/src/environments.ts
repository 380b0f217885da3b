// The Pythons that other extensions know: "Python Environments" and "Python", through their public APIs.

import * as vscode from "vscode";
import { log, textOf } from "./logging";

const ENVIRONMENTS = "ms-python.vscode-python-envs";
const PYTHON = "ms-python.python";

/** The part of the API of "Python Environments" that is used here. */
interface EnvironmentsApi {
  getEnvironment(scope: vscode.Uri | undefined): Promise<PythonEnvironment | undefined>;
  onDidChangeEnvironment?: vscode.Event<unknown>;
}

interface PythonEnvironment {
  execInfo?: { run?: { executable: string; args?: string[] } };
}

/** The part of the API of "Python" that is used here. */
interface PythonApi {
  environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath?: vscode.Event<unknown>;
  };
}

/** The command of the Python chosen in the "Python Environments" extension. */
export async function fromEnvironments(scope: vscode.Uri | undefined): Promise<string[] | undefined> {
  const api = await exportsOf<EnvironmentsApi>(ENVIRONMENTS);
  const run = (await api?.getEnvironment?.(scope))?.execInfo?.run;
  return run?.executable ? [run.executable, ...(run.args ?? [])] : undefined;
}

/** The command of the Python chosen in the "Python" extension. */
export async function fromPythonExtension(scope: vscode.Uri | undefined): Promise<string[] | undefined> {
  const environments = (await exportsOf<PythonApi>(PYTHON))?.environments;
  if (!environments) return undefined;
  const resolved = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(scope));
  const path = resolved?.executable.uri?.fsPath;
  return path ? [path] : undefined;
}

/** Calls back whenever another Python is chosen in either extension. */
export function watchEnvironments(changed: () => void): vscode.Disposable {
  const watches: vscode.Disposable[] = [];
  const watch = async () => {
    const environments = await exportsOf<EnvironmentsApi>(ENVIRONMENTS);
    const python = await exportsOf<PythonApi>(PYTHON);
    for (const event of [
      environments?.onDidChangeEnvironment,
      python?.environments?.onDidChangeActiveEnvironmentPath,
    ]) {
      if (event) watches.push(event(changed));
    }
  };
  void watch();
  return { dispose: () => vscode.Disposable.from(...watches).dispose() };
}

/** The command by which a person chooses another Python, where an extension has one. */
export function chooserCommand(): string | undefined {
  if (vscode.extensions.getExtension(PYTHON)) return "python.setInterpreter";
  return vscode.extensions.getExtension(ENVIRONMENTS) ? "python-envs.set" : undefined;
}

async function exportsOf<T>(id: string): Promise<T | undefined> {
  const extension = vscode.extensions.getExtension<T>(id);
  if (!extension) return undefined;
  try {
    return await extension.activate();
  } catch (error) {
    log.warn(`${id} does not start: ${textOf(error)}`);
    return undefined;
  }
}
