// Runs inside the extension host. Every function is a test; the first that fails ends the suite.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as vscode from "vscode";
import type { Api } from "../../../client/src/extension";

const ID = "gradsense.gradsense";
const LIMIT_MS = 40_000;

const TESTS: Record<string, (api: Api) => Promise<void>> = {
  async "the Python that the Python extension names runs the server"(api) {
    assert.match(serverCommand(api), new RegExp(`^${process.env.GRADSENSE_TEST_CHOSEN}`));
  },

  async "all commands of the manifest are there"() {
    const known = await vscode.commands.getCommands(true);
    const promised: { command: string }[] = vscode.extensions.getExtension(ID)?.packageJSON.contributes.commands;
    for (const { command } of promised) assert.ok(known.includes(command), command);
  },

  async "findings have a code, a range and related lines"() {
    const document = await show("four.py");
    const [found] = await diagnostics(document.uri, 1);
    assert.equal(codeOf(found), "GS201");
    assert.equal(found && document.getText(found.range), "h += self.skip(x)");
    assert.ok((found?.relatedInformation?.length ?? 0) >= 2);
  },

  async "quick fixes are offered, the preferred one first, and the line can be silenced"() {
    const document = await show("four.py");
    const [found] = await diagnostics(document.uri, 1);
    const actions = await actionsAt(document.uri, found?.range, vscode.CodeActionKind.QuickFix.value);
    assert.equal(actions[0]?.title, "Write `h` out of place");
    assert.equal(actions[0]?.isPreferred, true);
    assert.ok(
      actions.some(({ title }) => /ignore|Ignore|silence/i.test(title)),
      actions.map(({ title }) => title).join(),
    );
  },

  async "fix-all mends what is safe"() {
    const document = await show("four.py");
    await diagnostics(document.uri, 1);
    await vscode.commands.executeCommand("gradsense.fixAll");
    await until(() => assert.ok(document.getText().includes("h = h + self.skip(x)")));
    await vscode.commands.executeCommand("workbench.action.files.revert");
  },

  async "an unsaved file is looked at as well"() {
    const content =
      "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()\nloss.backward()\n";
    const document = await vscode.workspace.openTextDocument({ language: "python", content });
    const [found] = await diagnostics(document.uri, 1);
    assert.equal(codeOf(found), "GS101");
  },

  async "a setting that changes counts at once"() {
    const document = await show("four.py");
    await diagnostics(document.uri, 1);
    const settings = vscode.workspace.getConfiguration("gradsense");
    await settings.update("ignore", ["GS2"], vscode.ConfigurationTarget.Global);
    await until(() => assert.ok(!vscode.languages.getDiagnostics(document.uri).some((one) => codeOf(one) === "GS201")));
    await settings.update("ignore", undefined, vscode.ConfigurationTarget.Global);
    await until(() => assert.ok(vscode.languages.getDiagnostics(document.uri).some((one) => codeOf(one) === "GS201")));
  },

  async "another Python that is chosen is taken up"(api) {
    const before = api.serverPid();
    const python = vscode.extensions.getExtension<{ choose(path: string): void }>("ms-python.python");
    python?.exports.choose(process.env.GRADSENSE_TEST_OTHER ?? "");
    await until(() => {
      assert.ok(api.serverPid() && api.serverPid() !== before);
      assert.match(serverCommand(api), new RegExp(`^${process.env.GRADSENSE_TEST_OTHER}`));
    });
    await api.ready();
  },

  async "the server can be restarted by hand"(api) {
    const before = api.serverPid();
    await vscode.commands.executeCommand("gradsense.restart");
    await api.ready();
    assert.notEqual(api.serverPid(), before);
    await diagnostics((await show("four.py")).uri, 1);
  },
};

/** What VS Code calls. */
export async function run(): Promise<void> {
  const extension = vscode.extensions.getExtension<Api>(ID);
  assert.ok(extension, "the extension is not installed");
  await show("four.py");
  const api = await extension.activate();
  await api.ready();
  for (const [name, test] of Object.entries(TESTS)) {
    try {
      await test(api);
      console.log(`ok ${name}`);
    } catch (error) {
      throw new Error(`${name}: ${error instanceof Error ? error.stack : error}`);
    }
  }
}

async function show(name: string): Promise<vscode.TextDocument> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri as vscode.Uri;
  const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder, name));
  await vscode.window.showTextDocument(document);
  return document;
}

function diagnostics(uri: vscode.Uri, atLeast: number): Promise<vscode.Diagnostic[]> {
  return until(() => {
    const found = vscode.languages.getDiagnostics(uri).filter(({ source }) => source === "gradsense");
    assert.ok(found.length >= atLeast, `${found.length} findings in ${uri.path}`);
    return found;
  });
}

function actionsAt(uri: vscode.Uri, range: vscode.Range | undefined, kind: string): Thenable<vscode.CodeAction[]> {
  return vscode.commands.executeCommand("vscode.executeCodeActionProvider", uri, range, kind);
}

function codeOf(diagnostic: vscode.Diagnostic | undefined): string {
  const code = diagnostic?.code;
  return String(typeof code === "object" ? code.value : code);
}

function serverCommand(api: Api): string {
  return execFileSync("ps", ["-o", "args=", "-p", String(api.serverPid())], { encoding: "utf8" }).trim();
}

async function until<T>(attempt: () => T): Promise<T> {
  const deadline = Date.now() + LIMIT_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
