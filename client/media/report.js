// Tells the extension what was clicked in the report.

const vscode = acquireVsCodeApi();

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-action], [data-path]");
  if (!target) return;
  event.preventDefault();
  const { action, path, line } = target.dataset;
  vscode.postMessage(action ? { action } : { path, line: Number(line) });
});
