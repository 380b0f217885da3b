// Chooses a Python among those that were found, without any knowledge of the editor.

import { execFile } from "node:child_process";

/** A Python that might be used, and who named it. */
export interface Candidate {
  source: string;
  command: readonly string[];
}

/** What a Python says about itself. */
export interface Python {
  command: readonly string[];
  source: string;
  version: readonly [number, number, number];
  /** The ending of its native modules, such as ".cpython-312-x86_64-linux-gnu.so". */
  suffix: string;
}

/** A candidate that cannot serve, and why. */
export interface Refusal extends Candidate {
  why: string;
}

export interface Choice {
  /** The first that is a Python at all: the user's own, for their programs. */
  program?: Python;
  /** The first that can run the language server. */
  server?: Python;
  refusals: Refusal[];
}

export const OLDEST: readonly [number, number] = [3, 10];
const LIMIT_MS = 15_000;
// Isolated, so that nothing of the folder that the editor happens to stand in is run.
const QUESTION =
  "import sys, importlib.machinery as m; print(*sys.version_info[:3], m.EXTENSION_SUFFIXES[0], sys.implementation.name)";

/**
 * Goes through candidates in order.
 *
 * @param ask asks a candidate what it is; throws where it is no Python
 * @param fits undefined where a Python can run the server, else why it cannot
 */
export async function choose(
  candidates: AsyncIterable<Candidate> | Iterable<Candidate>,
  ask: (candidate: Candidate) => Promise<Python>,
  fits: (python: Python) => string | undefined,
): Promise<Choice> {
  const choice: Choice = { refusals: [] };
  const seen = new Set<string>();
  for await (const candidate of candidates) {
    const key = candidate.command.join("\0");
    if (seen.has(key)) continue;
    seen.add(key);
    let python: Python;
    try {
      python = await ask(candidate);
    } catch (error) {
      choice.refusals.push({ ...candidate, why: error instanceof Error ? error.message : String(error) });
      continue;
    }
    choice.program ??= python;
    const why = fits(python);
    if (why === undefined) {
      choice.server = python;
      break;
    }
    choice.refusals.push({ ...candidate, why });
  }
  return choice;
}

/**
 * Asks a Python for its version.
 *
 * @throws Error it cannot be started, is no Python, or does not answer in time
 */
export async function askPython({ source, command }: Candidate): Promise<Python> {
  const [program = "", ...args] = command;
  const answer = await new Promise<string>((resolve, reject) => {
    execFile(program, [...args, "-I", "-c", QUESTION], { timeout: LIMIT_MS, windowsHide: true }, (error, stdout) => {
      if (!error) resolve(stdout);
      else if (error.code === ("ENOENT" as unknown)) reject(new Error("there is no such program"));
      else reject(new Error(error.killed ? "it does not answer" : "it is not a Python that works"));
    });
  });
  const [major, minor, micro, suffix, implementation] = answer.trim().split(" ");
  if (!suffix || Number.isNaN(Number(major))) throw new Error("it is not a Python");
  if (implementation !== "cpython") throw new Error(`it is ${implementation}, and CPython is needed`);
  return { source, command, version: [Number(major), Number(minor), Number(micro)], suffix };
}

/**
 * Why a Python cannot run the server, or undefined where it can.
 *
 * @param carried the endings of the native modules that the extension carries
 */
export function whyUnfit(python: Python, carried: readonly string[]): string | undefined {
  const [major, minor] = python.version;
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    return `it is Python ${major}.${minor}, and ${OLDEST.join(".")} or newer is needed`;
  }
  if (carried.includes(python.suffix)) return undefined;
  const minors = [...new Set(carried.map(minorOf))].sort((a, b) => a - b);
  if (!minors.includes(minor)) {
    return `it is Python ${major}.${minor}, and this extension carries libraries for ${listed(minors)}`;
  }
  if (/\d[a-z]*t-/.test(python.suffix))
    return "it is a free-threaded Python, for which this extension carries no libraries";
  const build = python.suffix.replace(/^\.|\.\w+$/g, "");
  return `it is built for another system than this extension (${build}); install GradSense for that one, or another Python`;
}

/** The 12 of ".cpython-312-x86_64-linux-gnu.so" and of ".cp312-win_amd64.pyd". */
function minorOf(suffix: string): number {
  return Number(/^\.cp(?:ython-)?3(\d+)/.exec(suffix)?.[1]);
}

/** "3.10 to 3.14", where there is no gap. */
function listed(minors: readonly number[]): string {
  const [first, last] = [minors[0], minors.at(-1)];
  if (first === undefined || last === undefined) return "none (it is damaged: install it again)";
  if (last - first + 1 === minors.length && minors.length > 1) return `3.${first} to 3.${last}`;
  return minors.map((minor) => `3.${minor}`).join(", ");
}
