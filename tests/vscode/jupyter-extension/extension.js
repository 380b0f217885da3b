// The part of the Jupyter extension's API that reaches kernels, as its api.d.ts has it: `kernels.getKernel(uri)` answers
// with a kernel once a person has run a cell, and `executeCode(code, token)` yields outputs.

const { spawn } = require("node:child_process");
const { dirname, join } = require("node:path");
const { createInterface } = require("node:readline");
const vscode = require("vscode");

exports.activate = (context) => {
  const kernels = new Map();
  context.subscriptions.push(
    { dispose: () => kernels.forEach((kernel) => kernel.process.kill()) },
    vscode.commands.registerCommand("stub.runAbove", async () => {
      const { notebook, selection } = vscode.window.activeNotebookEditor;
      const key = notebook.uri.toString();
      const kernel = kernels.get(key) ?? start(dirname(notebook.uri.fsPath));
      kernels.set(key, kernel);
      const never = new vscode.CancellationTokenSource().token;
      for (const cell of notebook.getCells().slice(0, selection.start)) {
        for await (const _ of kernel.api.executeCode(cell.document.getText(), never, true));
      }
      vscode.window.setStatusBarMessage("cells above were run");
    }),
  );
  return { kernels: { getKernel: async (uri) => kernels.get(uri.toString())?.api } };
};

function start(cwd) {
  const child = spawn(process.env.GRADSENSE_PYTHON, [join(__dirname, "kernel.py")], {
    cwd,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const tell = (order) => child.stdin.write(`${JSON.stringify(order)}\n`);
  async function* executeCode(code, token, history = false) {
    tell({ code, history });
    const watch = token.onCancellationRequested(() => tell({ interrupt: true }));
    try {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error("the kernel ended");
        const told = JSON.parse(value);
        if (told.error) throw new Error(told.error);
        if (told.done) return;
        const items = Object.entries(told.data).map(([mime, text]) => ({ mime, data: new TextEncoder().encode(text) }));
        yield { items };
      }
    } finally {
      watch.dispose();
    }
  }
  const onDidChangeStatus = new vscode.EventEmitter().event;
  return { process: child, api: Object.freeze({ language: "python", status: "idle", onDidChangeStatus, executeCode }) };
}
