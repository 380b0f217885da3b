// The part of the Python extension's API that says which interpreter is chosen.

const vscode = require("vscode");

exports.activate = () => {
  const changed = new vscode.EventEmitter();
  let chosen = process.env.GRADSENSE_TEST_CHOSEN ?? "";
  return {
    choose(path) {
      chosen = path;
      changed.fire({ path });
    },
    environments: {
      getActiveEnvironmentPath: () => ({ path: chosen }),
      resolveEnvironment: async ({ path }) => (path ? { executable: { uri: vscode.Uri.file(path) } } : undefined),
      onDidChangeActiveEnvironmentPath: changed.event,
    },
  };
};
