// The output channel "GradSense": what the client and the server tell, with levels a person can set.

import * as vscode from "vscode";

export const log = vscode.window.createOutputChannel("GradSense", { log: true });

/** The text of whatever was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
