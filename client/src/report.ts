// What a run of a step tells: the shape of the server's report, read with care, and its summary in a sentence.

export interface Place {
  path: string;
  line: number;
}

export interface Frame extends Place {
  name: string;
  text: string;
  /** Whether it is the user's code, and not a library's. */
  user: boolean;
}

export interface Pass {
  line: number | null;
  nodes: number | null;
  saved_tensors: number | null;
  saved_bytes: number | null;
  alive_bytes: number | null;
  allocated: number | null;
  reserved: number | null;
}

export interface Holder extends Place {
  name: string;
}

export interface Prediction extends Place {
  code: string;
  verdict: string;
}

export interface Silent extends Place {
  what: string;
  written: Place | null;
}

export interface Report {
  outcome: string;
  error: { type: string; message: string } | null;
  walk: Place | null;
  saved: (Place & { op: string }) | null;
  written: (Place & { op: string })[];
  /** The line of the walk that freed what this one needed. */
  freed: Place | null;
  forward: Frame[];
  backward: Frame[];
  passes: Pass[];
  verdict: string;
  holders: Holder[];
  silent: Silent[];
  predictions: Prediction[];
  loss: number[];
  device: string;
  torch: string;
  cost: { plain: number | null; anomaly: number | null; probe: number | null };
  output: string;
  notes: string[];
  /** What became of a fix that was tried on a copy. */
  fix: { title: string; clean: boolean; sameLoss: boolean | null } | null;
}

type Raw = Record<string, unknown>;

/** Reads what the server sent; what is missing or of another kind is left empty. */
export function readReport(value: unknown): Report {
  const raw = object(value);
  const error = raw.error ? object(raw.error) : null;
  const cost = object(raw.cost);
  return {
    outcome: text(raw.outcome) || "failed",
    error: error ? { type: text(error.type) || "Error", message: text(error.message) } : null,
    walk: place(raw.walk),
    saved: withOp(raw.saved),
    written: list(raw.written).flatMap((item) => withOp(item) ?? []),
    freed: place(raw.freed),
    forward: list(raw.forward_traceback).map(frame),
    backward: list(raw.backward_traceback).map(frame),
    passes: list(raw.passes).map(pass),
    verdict: text(raw.verdict) || "none",
    holders: list(raw.holders).map((item) => ({ name: text(object(item).name), ...somewhere(item) })),
    silent: list(raw.silent).map((item) => ({
      what: text(object(item).what),
      written: place(object(item).written),
      ...somewhere(item),
    })),
    predictions: list(raw.predictions).map((item) => ({
      code: text(object(item).code),
      verdict: text(object(item).verdict),
      ...somewhere(item),
    })),
    loss: list(raw.loss).filter((item) => typeof item === "number"),
    device: text(raw.device),
    torch: text(raw.torch),
    cost: { plain: number(cost.plain), anomaly: number(cost.anomaly), probe: number(cost.probe) },
    output: text(raw.output),
    notes: list(raw.notes).map(text),
    fix: raw.fix ? fixTried(object(raw.fix)) : null,
  };
}

/** What a person calls a line of a file. */
export type Naming = (path: string, line: number) => string;

/**
 * A run in a sentence or two.
 *
 * @param phrase a line within a sentence, such as "on line 17"
 */
export function summaryOf(report: Report, phrase: Naming): string {
  const at = (where: Place | null) => (where ? ` ${phrase(where.path, where.line)}` : "");
  const parts: string[] = [];
  switch (report.outcome) {
    case "raises":
    case "nan": {
      const what = report.error ? report.error.type : report.outcome === "nan" ? "A NaN in a gradient" : "An error";
      parts.push(
        report.error ? `${what}${at(report.walk)}: ${firstLine(report.error.message)}` : `${what}${at(report.walk)}.`,
      );
      if (report.saved) parts.push(`Saved${at(report.saved)}${report.saved.op ? ` by ${report.saved.op}` : ""}.`);
      const write = report.written[0];
      if (write) parts.push(`Written${at(write)}.`);
      if (report.freed) parts.push(`Freed by the walk${at(report.freed)}.`);
      break;
    }
    case "grows": {
      const [holder, ...others] = report.holders;
      const stored = holder?.path ? `, stored${at(holder)}` : "";
      const more = others.length > 0 ? `; ${others.map(({ name }) => name).join(", ")} too` : "";
      parts.push(`Memory grows with every pass${holder ? `: ${holder.name} keeps the graphs${stored}${more}` : ""}.`);
      break;
    }
    case "clean":
      parts.push(`The step runs clean${report.device ? ` on ${report.device}` : ""}.`);
      break;
    case "timeout":
      parts.push("The step took longer than the time limit and was ended.");
      break;
    case "cancelled":
      parts.push("The run was cancelled.");
      break;
    default:
      parts.push(report.error ? `The step failed: ${firstLine(report.error.message)}` : "The step could not be run.");
  }
  return parts.join(" ");
}

/**
 * The passes of the loop that tells most: the one whose graph grows most, or else the one with most passes.
 *
 * A step may have loops within loops, and the passes of all of them are reported in the order in which they ended.
 */
export function tellingPasses(passes: readonly Pass[]): Pass[] {
  const loops = new Map<number | null, Pass[]>();
  for (const pass of passes) loops.set(pass.line, [...(loops.get(pass.line) ?? []), pass]);
  const growth = (loop: Pass[]) => (loop.at(-1)?.nodes ?? 0) - (loop[0]?.nodes ?? 0);
  return [...loops.values()].sort((a, b) => growth(b) - growth(a) || b.length - a.length)[0] ?? [];
}

/** Whether there is something to look at. */
export function isTrouble(report: Report): boolean {
  return !["clean", "cancelled"].includes(report.outcome) || report.silent.length > 0;
}

/** What fits in a notification: torch goes on with hints, which the report has in full. */
function firstLine(message: string): string {
  const [line = ""] = message.trim().split(/\n| Hint: /);
  return line.length > 220 ? `${line.slice(0, 217)}...` : line;
}

function fixTried(raw: Raw): Report["fix"] {
  const same = raw.same_loss;
  return { title: text(raw.title), clean: raw.clean === true, sameLoss: typeof same === "boolean" ? same : null };
}

function frame(value: unknown): Frame {
  const raw = object(value);
  return { ...somewhere(raw), name: text(raw.name), text: text(raw.text), user: raw.user !== false };
}

function pass(value: unknown): Pass {
  const raw = object(value);
  return {
    line: number(raw.line),
    nodes: number(raw.nodes),
    saved_tensors: number(raw.saved_tensors),
    saved_bytes: number(raw.saved_bytes),
    alive_bytes: number(raw.alive_bytes),
    allocated: number(raw.allocated),
    reserved: number(raw.reserved),
  };
}

function withOp(value: unknown): (Place & { op: string }) | null {
  const found = place(value);
  return found ? { ...found, op: text(object(value).op) } : null;
}

function place(value: unknown): Place | null {
  const { path, line } = object(value);
  return typeof path === "string" && typeof line === "number" ? { path, line } : null;
}

function somewhere(value: unknown): Place {
  return place(value) ?? { path: "", line: 0 };
}

function object(value: unknown): Raw {
  return typeof value === "object" && value !== null ? (value as Raw) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
