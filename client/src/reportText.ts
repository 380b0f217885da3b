// The report of a run as text, for a clipboard or an issue.

import { bytes } from "./html";
import { type Frame, type Naming, type Place, type Report, summaryOf, tellingPasses } from "./report";

/** The report in Markdown. */
export function reportText(report: Report, title: string, phrase: Naming): string {
  const at = ({ path, line }: Place) => (path ? ` ${phrase(path, line)}` : "");
  const by = (op: string) => (op ? ` by \`${op}\`` : "");
  const parts = [`### GradSense: ${title}`, summaryOf(report, phrase)];
  if (report.error) parts.push(fenced(`${report.error.type}: ${report.error.message}`));
  const story = [
    report.saved && `- saved${at(report.saved)}${by(report.saved.op)}`,
    ...report.written.map((write) => `- written${at(write)}${by(write.op)}`),
    report.freed && `- freed by the walk${at(report.freed)}`,
    report.walk && `- walked${at(report.walk)}`,
    ...report.silent.map(
      (fault) => `- ${fault.what},${at(fault)}${fault.written ? `; written${at(fault.written)}` : ""}`,
    ),
  ].filter(Boolean);
  if (story.length) parts.push(story.join("\n"));
  if (report.forward.length) parts.push(`Forward:\n\n${fenced(frames(report.forward, phrase))}`);
  if (report.backward.length) parts.push(`Backward:\n\n${fenced(frames(report.backward, phrase))}`);
  if (report.passes.length) parts.push(table(report));
  if (report.holders.length)
    parts.push(report.holders.map((held) => `- held by \`${held.name}\`${at(held)}`).join("\n"));
  const facts = [report.device, report.torch && `torch ${report.torch}`, ...report.notes].filter(Boolean);
  if (facts.length) parts.push(facts.join("; "));
  return `${parts.join("\n\n")}\n`;
}

function frames(all: readonly Frame[], phrase: Naming): string {
  return all
    .map(({ path, line, name, text, user }) => {
      const place = user ? phrase(path, line) : `in ${path}, line ${line}`;
      return `  ${place}, ${name}\n    ${text.trim()}`;
    })
    .join("\n");
}

function table(report: Report): string {
  const size = (value: number | null) => (value === null ? "" : bytes(value));
  const rows = tellingPasses(report.passes).map((pass, index) =>
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
