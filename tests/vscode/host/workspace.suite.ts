// Runs inside the extension host, in a window with two folders whose settings differ, and with an interactive window.

import assert from "node:assert/strict";
import * as vscode from "vscode";
import { codeOf, diagnostics, runTests, show, type Tests, until } from "./inside";

const TESTS: Tests = {
  async "one server serves all folders"(api) {
    await diagnostics((await show("second:faults.py")).uri, 1);
    const pid = api.serverPid();
    await show("first:faults.py");
    assert.equal(api.serverPid(), pid);
  },

  async "each folder has its own settings"() {
    const strict = await show("second:faults.py");
    assert.ok((await diagnostics(strict.uri, 1)).some((found) => codeOf(found) === "GS201"));
    const lax = await show("first:faults.py");
    await until(() => {
      const codes = vscode.languages.getDiagnostics(lax.uri).map(codeOf);
      assert.ok(codes.includes("GS301") && !codes.includes("GS201"), codes.join());
    });
  },

  async "a setting of a folder that changes counts there and nowhere else"() {
    const [folder] = vscode.workspace.workspaceFolders ?? [];
    const settings = vscode.workspace.getConfiguration("gradsense", folder?.uri);
    await settings.update("ignore", [], vscode.ConfigurationTarget.WorkspaceFolder);
    const lax = await show("first:faults.py");
    await until(() => assert.ok(vscode.languages.getDiagnostics(lax.uri).some((found) => codeOf(found) === "GS201")));
    await settings.update("ignore", ["GS2"], vscode.ConfigurationTarget.WorkspaceFolder);
    await until(() => assert.ok(!vscode.languages.getDiagnostics(lax.uri).some((found) => codeOf(found) === "GS201")));
    const strict = await show("second:faults.py");
    assert.ok((await diagnostics(strict.uri, 1)).some((found) => codeOf(found) === "GS201"));
  },

  async "a step runs with the interpreter, the arguments and in the place of its folder"() {
    for (const folder of ["first", "second"]) {
      const document = await show(`${folder}:where.py`);
      const report = await vscode.commands.executeCommand<{ outcome: string; output: string; error: unknown }>(
        "gradsense.runStep",
        { uri: document.uri.toString() },
      );
      assert.equal(report.outcome, "clean", JSON.stringify(report.error));
      assert.match(report.output, new RegExp(`^${folder} of-${folder} .*/${folder}\n`));
    }
  },

  async "an interactive window's cells are one program"() {
    await vscode.commands.executeCommand("interactive.open", vscode.ViewColumn.Beside);
    const notebook = await until(() => {
      const found = vscode.workspace.notebookDocuments.find(({ notebookType }) => notebookType === "interactive");
      assert.ok(found, "no interactive window");
      return found;
    });
    const cell = (text: string) => new vscode.NotebookCellData(vscode.NotebookCellKind.Code, text, "python");
    const cells = [
      cell("import torch\nw = torch.ones(2, requires_grad=True)"),
      cell("y = w.exp()\ny += 1\ny.sum().backward()"),
    ];
    const edit = new vscode.WorkspaceEdit();
    edit.set(notebook.uri, [vscode.NotebookEdit.insertCells(0, cells)]);
    assert.ok(await vscode.workspace.applyEdit(edit));
    const last = await until(() => {
      const found = notebook.getCells().at(-1);
      assert.equal(notebook.cellCount, 2);
      return found as vscode.NotebookCell;
    });
    const [found] = await diagnostics(last.document.uri, 1);
    assert.equal(codeOf(found), "GS201");
    assert.equal(found && last.document.getText(found.range), "y += 1");
    const argument = { uri: notebook.uri.toString(), cell: last.document.uri.toString() };
    const report = await vscode.commands.executeCommand<{ outcome: string; walk: { path: string; line: number } }>(
      "gradsense.runStep",
      argument,
    );
    assert.equal(report.outcome, "raises");
    assert.deepEqual(report.walk, { path: last.document.uri.toString(), line: 3 });
  },

  async "cells marked in a script are cells to run"() {
    const document = await show("second:marked.py");
    const report = await vscode.commands.executeCommand<{ outcome: string }>("gradsense.runStep", {
      uri: document.uri.toString(),
      line: 2,
    });
    // The cell after it would raise.
    assert.equal(report.outcome, "clean");
  },
};

/** What VS Code calls. */
export function run(): Promise<void> {
  return runTests(TESTS, "first:faults.py");
}
