import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryPlots } from "../../../client/src/memoryPlot";
import { isTrouble, type Pass, readReport, summaryOf, tellingPasses } from "../../../client/src/report";
import { reportPage } from "../../../client/src/reportHtml";
import { reportText } from "../../../client/src/reportText";

const ASSETS = { style: "s.css", script: "s.js", cspSource: "https://x", nonce: "abc" };
const NAME = (path: string, line: number) => `${path.split("/").at(-1)}:${line}`;
const PHRASE = (path: string, line: number) =>
  path.startsWith("cell:") ? `in cell ${path.slice(5)}, line ${line}` : `on line ${line}`;
const NAMES = { name: NAME, phrase: PHRASE };
const FRAME = { path: "/w/train.py", line: 16, name: "forward", text: "h = torch.sigmoid(x)", user: true };
const RAISES = {
  outcome: "raises",
  error: { type: "RuntimeError", message: "one of the variables <needed> has been modified\nmore" },
  walk: { path: "/w/train.py", line: 37 },
  saved: { path: "/w/train.py", line: 16, op: "sigmoid" },
  written: [{ path: "/w/train.py", line: 17, op: "add_" }],
  forward_traceback: [FRAME, { ...FRAME, path: "/lib/functional.py", user: false }],
  device: "cpu",
  torch: "2.13.0",
};

function pass(alive: number, gpu?: [number, number]): Pass {
  const [allocated, reserved] = gpu ?? [null, null];
  return { line: 3, nodes: alive / 100, saved_tensors: 2, saved_bytes: 10, alive_bytes: alive, allocated, reserved };
}

test("a raise is told with its three lines", () => {
  const summary = summaryOf(readReport(RAISES), PHRASE);
  assert.match(summary, /RuntimeError on line 37: one of the variables/);
  assert.match(summary, /Saved on line 16 by sigmoid\. Written on line 17\./);
  assert.doesNotMatch(summary, /more/);
});

test("in a notebook the cell is told everywhere", () => {
  const spot = { path: "cell:4", line: 3 };
  const report = readReport({ ...RAISES, walk: spot, saved: { ...spot, line: 1, op: "exp" }, forward_traceback: [] });
  assert.match(summaryOf(report, PHRASE), /RuntimeError in cell 4, line 3: .* Saved in cell 4, line 1 by exp\./);
  assert.match(reportText(report, "fit.ipynb", PHRASE), /- walked in cell 4, line 3/);
});

test("growth is told with who holds it", () => {
  const report = readReport({
    outcome: "grows",
    holders: [{ name: "running", path: "/w/a.py", line: 39 }, { name: "log" }],
  });
  assert.match(summaryOf(report, PHRASE), /grows.*: running keeps the graphs, stored on line 39; log too\./);
  assert.ok(isTrouble(report));
});

test("whatever is sent gives a report", () => {
  for (const value of [
    null,
    undefined,
    3,
    "x",
    [],
    {},
    { passes: [null, 3], error: {}, holders: "no", loss: ["a", 1] },
  ]) {
    const report = readReport(value);
    assert.ok(summaryOf(report, PHRASE).length > 0);
    assert.ok(reportPage(report, "t", ASSETS, NAMES).includes("</html>"));
  }
});

test("a clean run is no trouble", () => {
  assert.ok(!isTrouble(readReport({ outcome: "clean" })));
});

test("the page shows what happened, and text stays text", () => {
  const page = reportPage(readReport(RAISES), "<train>", ASSETS, NAMES);
  assert.ok(page.includes("one of the variables &lt;needed&gt;"));
  assert.ok(page.includes("&lt;train&gt;"));
  assert.ok(page.includes('data-path="/w/train.py" data-line="17"'));
  assert.ok(page.includes("all 2 frames"));
});

test("what cannot be opened is no link, and a module is no function", () => {
  const frames = [{ ...FRAME, path: "<call>", line: 1, name: "<module>", text: "tilt(3.0)" }, FRAME];
  const page = reportPage(readReport({ ...RAISES, forward_traceback: frames }), "t", ASSETS, NAMES);
  assert.doesNotMatch(page, /data-path="&lt;call|&lt;module/);
  assert.match(page, /in <code>forward<\/code>/);
});

test("the page may load nothing but its own style and script", () => {
  const page = reportPage(readReport(RAISES), "t", ASSETS, NAMES);
  assert.match(page, /default-src &#39;none&#39;; style-src https:\/\/x; script-src &#39;nonce-abc&#39;/);
  assert.doesNotMatch(page, /style="|onclick=/);
});

test("the text for an issue names the lines", () => {
  const text = reportText(readReport(RAISES), "train.py", PHRASE);
  assert.match(text, /- saved on line 16 by `sigmoid`/);
  assert.match(text, /on line 16, forward\n {4}h = torch\.sigmoid\(x\)/);
  assert.match(text, /in \/lib\/functional\.py, line 16, forward/);
});

test("a plot has a bar for each pass, the higher the more is alive", () => {
  const svg = memoryPlots([pass(1000), pass(2000), pass(4000)]);
  const heights = [...svg.matchAll(/<rect class="bar alive"[^>]* height="([\d.]+)"/g)].map((found) => Number(found[1]));
  assert.equal(heights.length, 3);
  assert.ok(Math.abs((heights[2] ?? 0) / (heights[0] ?? 1) - 4) < 0.05);
});

test("on a GPU the plot shows what is allocated, and a line for what is reserved", () => {
  const svg = memoryPlots([pass(1, [1e6, 2e6]), pass(1, [1e6, 3e6])]);
  assert.match(svg, /<polyline class="line reserved"/);
  assert.match(svg, /pass 1: 1 MB allocated on the GPU/);
});

test("one pass is no plot", () => {
  assert.equal(memoryPlots([pass(10)]), "");
});

test("of loops within loops, the one that grows is shown", () => {
  const row = (line: number, nodes: number): Pass => ({ ...pass(100), line, nodes });
  const inner = [row(5, 4), row(5, 4), row(5, 4), row(5, 4)];
  const outer = [row(9, 4), row(9, 9)];
  assert.deepEqual(
    tellingPasses([...inner.slice(0, 2), ...outer.slice(0, 1), ...inner.slice(2), ...outer.slice(1)]),
    outer,
  );
  assert.deepEqual(tellingPasses(inner), inner);
  assert.deepEqual(tellingPasses([]), []);
});
