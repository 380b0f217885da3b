// Runs inside the extension host, in a window with one folder.

import assert from "node:assert/strict";
import * as vscode from "vscode";
import { actionsAt, codeOf, diagnostics, ID, runTests, serverCommand, show, type Tests, until } from "./inside";

const TESTS: Tests = {
  async "the Python that the Python extension names runs the server"(api) {
    assert.match(serverCommand(api), new RegExp(`^${process.env.GRADSENSE_TEST_CHOSEN}`));
  },

  async "all commands of the manifest are there"() {
    const known = await vscode.commands.getCommands(true);
    const promised: { command: string }[] = vscode.extensions.getExtension(ID)?.packageJSON.contributes.commands;
    for (const { command } of promised) assert.ok(known.includes(command), command);
  },

  async "the buttons of the walkthrough lead somewhere, and its example has something to find"() {
    const known = await vscode.commands.getCommands(true);
    const guides: { steps: { description: string }[] }[] =
      vscode.extensions.getExtension(ID)?.packageJSON.contributes.walkthroughs;
    const texts = guides.flatMap(({ steps }) => steps.map(({ description }) => description));
    const buttons = texts.flatMap((text) =>
      [...text.matchAll(/\(command:([\w.]+)/g)].map(([, command = ""]) => command),
    );
    assert.ok(buttons.length >= texts.length, texts.join());
    for (const command of buttons) assert.ok(known.includes(command), command);
    await vscode.commands.executeCommand("gradsense.openExample");
    const document = vscode.window.activeTextEditor?.document as vscode.TextDocument;
    assert.equal(document.isUntitled, true);
    assert.equal(codeOf((await diagnostics(document.uri, 1))[0]), "GS201");
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
export function run(): Promise<void> {
  return runTests(TESTS, "four.py");
}
