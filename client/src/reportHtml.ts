// The report of a run as a page: what happened, where, and what each pass left in memory.

import { bytes, escaped } from "./html";
import { memoryPlots } from "./memoryPlot";
import { type Frame, type Naming, type Place, type Report, summaryOf, tellingPasses } from "./report";

export interface Assets {
  style: string;
  script: string;
  cspSource: string;
  nonce: string;
}

const TITLES: Record<string, string> = {
  raises: "It raises",
  grows: "Memory grows",
  nan: "A gradient is not a number",
  clean: "It runs clean",
  failed: "It could not be run",
  timeout: "It took too long",
  cancelled: "It was cancelled",
};
const VERDICTS: Record<string, string> = {
  steady: "Steady: every pass leaves as much as the one before.",
  grows: "Grows: every pass leaves more than the one before.",
  fragmentation: "Fragmentation: what is allocated stays, what is reserved grows.",
  varying: "Varying: the passes are of different sizes.",
};

/** What a person calls a line: by itself, and within a sentence. */
export interface Names {
  name: Naming;
  phrase: Naming;
}

/** The whole page, which may load nothing but its own style and script. */
export function reportPage(report: Report, title: string, assets: Assets, names: Names): string {
  const policy = `default-src 'none'; style-src ${assets.cspSource}; script-src 'nonce-${assets.nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${escaped(assets.style)}">
<title>${escaped(title)}</title>
</head>
<body>
${reportBody(report, title, names)}
<script nonce="${assets.nonce}" src="${escaped(assets.script)}"></script>
</body>
</html>`;
}

/** What the page shows. */
export function reportBody(report: Report, title: string, { name, phrase }: Names): string {
  const link = linkBy(name);
  return [
    heading(report, title),
    error(report, phrase),
    fix(report),
    story(report, link),
    traceback("Forward: where the value was made", report.forward, link),
    traceback("Backward: where it failed", report.backward, link),
    memory(report),
    holders(report, link),
    silent(report, link),
    predictions(report, link),
    output(report),
    facts(report),
  ]
    .filter(Boolean)
    .join("\n");
}

function fix({ fix }: Report): string {
  if (!fix) return "";
  const loss = { true: "the losses of the first passes are the same", false: "the losses differ", null: "" }[
    `${fix.sameLoss}`
  ];
  const words = [fix.clean ? "the step runs clean with it" : "the step is not clean with it", loss]
    .filter(Boolean)
    .join("; ");
  return section("The fix that was tried", `<p><b>${escaped(fix.title)}</b>: ${escaped(words)}.</p>`);
}

function heading(report: Report, title: string): string {
  const state =
    report.outcome === "clean" ? "good" : ["raises", "grows", "nan"].includes(report.outcome) ? "bad" : "odd";
  return `<header><h1 class="${state}">${escaped(TITLES[report.outcome] ?? report.outcome)}</h1>
<p class="what">${escaped(title)}</p>
<p class="actions"><button data-action="copy">Copy report</button> <button data-action="again">Run again</button></p></header>`;
}

function error(report: Report, phrase: Naming): string {
  if (!report.error) return `<p>${escaped(summaryOf(report, phrase))}</p>`;
  return `<pre class="error"><b>${escaped(report.error.type)}</b>: ${escaped(report.error.message)}</pre>`;
}

function story(report: Report, link: Link): string {
  const rows: [string, Place, string][] = [];
  if (report.saved) rows.push(["saved", report.saved, report.saved.op]);
  for (const write of report.written) rows.push(["written", write, write.op]);
  if (report.freed) rows.push(["freed", report.freed, ""]);
  if (report.walk) rows.push(["walked", report.walk, ""]);
  const items = rows.map(
    ([role, place, op]) =>
      `<li class="${role}"><b>${role}</b> ${link(place)}${op ? ` by <code>${escaped(op)}</code>` : ""}</li>`,
  );
  return section("The lines", items.length ? `<ul class="story">${items.join("")}</ul>` : "");
}

function traceback(title: string, frames: readonly Frame[], link: Link): string {
  const frameItem = frameItemBy(link);
  const mine = frames.filter((frame) => frame.user);
  const others = frames.length - mine.length;
  if (frames.length === 0) return "";
  const shown = mine.length ? `<ol class="frames">${mine.map(frameItem).join("")}</ol>` : "";
  const all = others
    ? `<details><summary>all ${frames.length} frames</summary><ol class="frames">${frames.map(frameItem).join("")}</ol></details>`
    : "";
  return section(title, shown + all);
}

function frameItemBy(link: Link): (frame: Frame) => string {
  return (frame) => {
    const code = frame.text ? `<code class="line">${escaped(frame.text.trim())}</code>` : "";
    const within = frame.name && !frame.name.startsWith("<") ? ` in <code>${escaped(frame.name)}</code>` : "";
    return `<li class="${frame.user ? "user" : "library"}">${link(frame)}${within}${code}</li>`;
  };
}

function memory(report: Report): string {
  if (report.passes.length === 0) return "";
  const words = VERDICTS[report.verdict];
  const gpu = report.passes.some((pass) => pass.reserved);
  const cell = (value: number | null, form: (value: number) => string = String) =>
    `<td>${value === null ? "" : escaped(form(value))}</td>`;
  const passes = tellingPasses(report.passes);
  const rows = passes.map((pass, index) => {
    const device = gpu ? cell(pass.allocated, bytes) + cell(pass.reserved, bytes) : "";
    const graph =
      cell(pass.nodes) + cell(pass.saved_tensors) + cell(pass.saved_bytes, bytes) + cell(pass.alive_bytes, bytes);
    return `<tr><th scope="row">${index + 1}</th>${graph}${device}</tr>`;
  });
  const device = gpu ? "<th>allocated</th><th>reserved</th>" : "";
  const head = `<tr><th>pass</th><th>graph nodes</th><th>tensors saved</th><th>bytes saved</th><th>alive after</th>${device}</tr>`;
  const table = `<table><thead>${head}</thead><tbody>${rows.join("")}</tbody></table>`;
  return section("Memory, pass by pass", `${words ? `<p>${words}</p>` : ""}${memoryPlots(passes)}${table}`);
}

function holders(report: Report, link: Link): string {
  const items = report.holders.map(
    (held) => `<li><code>${escaped(held.name)}</code> ${held.path ? link(held) : ""}</li>`,
  );
  return section("Who holds the graphs", items.length ? `<ul>${items.join("")}</ul>` : "");
}

function silent(report: Report, link: Link): string {
  const items = report.silent.map(
    (fault) =>
      `<li>${link(fault)} ${escaped(fault.what)}${fault.written ? `, written ${link(fault.written)}` : ""}</li>`,
  );
  return section("Wrong without an error", items.length ? `<ul>${items.join("")}</ul>` : "");
}

function predictions(report: Report, link: Link): string {
  const items = report.predictions.map(
    (said) =>
      `<li><code>${escaped(said.code)}</code> ${link(said)} <b class="${escaped(said.verdict)}">${escaped(said.verdict)}</b></li>`,
  );
  return section("What was predicted", items.length ? `<ul>${items.join("")}</ul>` : "");
}

function output(report: Report): string {
  return section("What it printed", report.output ? `<pre class="output">${escaped(report.output)}</pre>` : "");
}

function facts(report: Report): string {
  const { plain, anomaly, probe } = report.cost;
  const ms = (seconds: number) => `${(seconds * 1000).toFixed(1)} ms`;
  const cost = [
    plain === null ? "" : `${ms(plain)} plain`,
    anomaly === null ? "" : `${ms(anomaly)} under anomaly detection`,
    probe === null ? "" : `${ms(probe)} with the probe`,
  ].filter(Boolean);
  const facts = [
    report.device && `device ${report.device}`,
    report.torch && `torch ${report.torch}`,
    cost.length ? `a pass takes ${cost.join(", ")}` : "",
    report.loss.length ? `loss ${report.loss.map((value) => value.toPrecision(5)).join(", ")}` : "",
    ...report.notes,
  ].filter(Boolean);
  return facts.length ? `<footer><ul>${facts.map((fact) => `<li>${escaped(fact)}</li>`).join("")}</ul></footer>` : "";
}

type Link = (place: Place) => string;

function linkBy(name: Naming): Link {
  return ({ path, line }) => {
    // Such as the call that was asked for: there is nothing to open.
    if (path.startsWith("<")) return `<span>${escaped(name(path, line))}</span>`;
    return `<a href="#" data-path="${escaped(path)}" data-line="${line}">${escaped(name(path, line))}</a>`;
  };
}

function section(title: string, content: string): string {
  return content ? `<section><h2>${escaped(title)}</h2>${content}</section>` : "";
}
