// The plot of what each pass of a loop left alive, as SVG.

import { bytes, escaped } from "./html";
import type { Pass } from "./report";

interface Series {
  name: string;
  kind: string;
  values: (number | null)[];
  unit: (value: number) => string;
}

const WIDTH = 640;
const HEIGHT = 170;
const LEFT = 78;
const RIGHT = 16;
const TOP = 14;
const BOTTOM = 34;
const BAR_SHARE = 0.46;
const MOST_LABELS = 12;

/**
 * Draws what was alive after each pass: graph nodes, and bytes; on a GPU, what was allocated, under what was reserved.
 *
 * @returns the empty string where fewer than two passes were measured
 */
export function memoryPlots(passes: readonly Pass[]): string {
  if (passes.length < 2) return "";
  const series = (name: string, kind: string, key: keyof Pass, unit: (value: number) => string): Series => ({
    name,
    kind,
    values: passes.map((pass) => pass[key]),
    unit,
  });
  const plots = [plot(series("graph nodes alive after the pass", "nodes", "nodes", String), [])];
  // Without a GPU these are zero, or not there at all.
  if (passes.some((pass) => pass.reserved)) {
    const reserved = series("reserved on the GPU", "reserved", "reserved", bytes);
    plots.push(plot(series("allocated on the GPU", "allocated", "allocated", bytes), [reserved]));
  } else {
    plots.push(plot(series("bytes alive after the pass", "alive", "alive_bytes", bytes), []));
  }
  return plots.join("");
}

function plot(bars: Series, lines: readonly Series[]): string {
  if (!bars.values.some((value) => value)) return "";
  const top = niceTop(Math.max(1, ...[bars, ...lines].flatMap((series) => series.values.map((value) => value ?? 0))));
  const step = (WIDTH - LEFT - RIGHT) / bars.values.length;
  const x = (index: number) => LEFT + step * (index + 0.5);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const parts = [...grid(top, y, bars.unit), ...labels(bars.values.length, x)];
  bars.values.forEach((value, index) => {
    if (value === null) return;
    const width = step * BAR_SHARE;
    const title = `<title>pass ${index + 1}: ${escaped(bars.unit(value))} ${escaped(bars.name)}</title>`;
    const box = `x="${n(x(index) - width / 2)}" y="${n(y(value))}" width="${n(width)}" height="${n(y(0) - y(value))}"`;
    parts.push(`<rect class="bar ${bars.kind}" ${box} rx="2">${title}</rect>`);
  });
  for (const line of lines) {
    const points = line.values.flatMap((value, index) => (value === null ? [] : [`${n(x(index))},${n(y(value))}`]));
    parts.push(`<polyline class="line ${line.kind}" points="${points.join(" ")}"/>`);
  }
  const about = [bars, ...lines].map((series) => series.name).join(", ");
  return `<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(about)}, pass by pass">${parts.join("")}</svg>
<p class="legend">${[bars, ...lines].map((series) => `<span class="key ${series.kind}"></span>${escaped(series.name)}`).join(" ")}</p>`;
}

function grid(top: number, y: (value: number) => number, unit: (value: number) => string): string[] {
  return [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const at = n(y(top * share));
    const line = `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>`;
    return `${line}<text class="tick" x="${LEFT - 8}" y="${at}" dy="0.32em" text-anchor="end">${escaped(unit(top * share))}</text>`;
  });
}

function labels(count: number, x: (index: number) => number): string[] {
  const every = Math.ceil(count / MOST_LABELS);
  return Array.from({ length: count }, (_, index) => index)
    .filter((index) => index % every === 0)
    .map(
      (index) =>
        `<text class="tick" x="${n(x(index))}" y="${HEIGHT - 12}" text-anchor="middle">pass ${index + 1}</text>`,
    );
}

/** The next number upwards that divides well by four. */
function niceTop(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 4, 8, 10].find((candidate) => candidate * unit >= value) ?? 10;
  return Math.max(factor * unit, 4);
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}
