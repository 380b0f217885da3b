// The report of a run as text, for a clipboard or an issue.

import { bytes } from "./html";
import { type Frame, type Place, type Report, summaryOf } from "./report";

/** The report in Markdown. */
export function reportText(report: Report, title: string): string {
  const parts = [`### GradSense: ${title}`, summaryOf(report)];
  if (report.error) parts.push(fenced(`${report.error.type}: ${report.error.message}`));
  const story = [
    report.saved && `- saved ${at(report.saved)}${report.saved.op && ` by \`${report.saved.op}\``}`,
    ...report.written.map((write) => `- written ${at(write)}${write.op && ` by \`${write.op}\``}`),
    report.walk && `- walked ${at(report.walk)}`,
  ].filter(Boolean);
  if (story.length) parts.push(story.join("\n"));
  if (report.forward.length) parts.push(`Forward:\n\n${fenced(frames(report.forward))}`);
  if (report.backward.length) parts.push(`Backward:\n\n${fenced(frames(report.backward))}`);
  if (report.passes.length) parts.push(table(report));
  if (report.holders.length)
    parts.push(report.holders.map((held) => `- held by \`${held.name}\` ${at(held)}`).join("\n"));
  const facts = [report.device, report.torch && `torch ${report.torch}`, ...report.notes].filter(Boolean);
  if (facts.length) parts.push(facts.join("; "));
  return `${parts.join("\n\n")}\n`;
}

function at({ path, line }: Place): string {
  return path ? `at ${path}:${line}` : "";
}

function frames(all: readonly Frame[]): string {
  return all
    .map((frame) => `  File "${frame.path}", line ${frame.line}, in ${frame.name}\n    ${frame.text.trim()}`)
    .join("\n");
}

function table(report: Report): string {
  const size = (value: number | null) => (value === null ? "" : bytes(value));
  const rows = report.passes.map((pass, index) =>
    [index + 1, pass.nodes ?? "", size(pass.saved_bytes), size(pass.alive_bytes), size(pass.allocated)].join(" | "),
  );
  return [
    "| pass | graph nodes | saved | alive after | allocated |",
    "| --- | --- | --- | --- | --- |",
    ...rows.map((row) => `| ${row} |`),
  ].join("\n");
}

function fenced(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\``;
}
