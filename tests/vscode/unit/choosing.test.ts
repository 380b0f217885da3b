import assert from "node:assert/strict";
import { test } from "node:test";
import { askPython, type Candidate, choose, type Python, whyUnfit } from "../../../client/src/choosing";

const CARRIED = [10, 11, 12, 13, 14].map((minor) => `.cpython-3${minor}-x.so`);

function candidate(name: string): Candidate {
  return { source: "a test", command: [name] };
}

/** A world of Pythons by their commands. */
function world(versions: Record<string, [number, number, number]>) {
  return async ({ source, command }: Candidate): Promise<Python> => {
    const version = versions[command[0] ?? ""];
    if (!version) throw new Error("there is no such program");
    return { source, command, version, suffix: `.cpython-${version[0]}${version[1]}-x.so` };
  };
}

const fits = (python: Python) => whyUnfit(python, CARRIED);

test("the first that works is taken for everything, and nothing further is started", async () => {
  const asked: string[] = [];
  const ask = world({ a: [3, 10, 1], b: [3, 14, 0] });
  const choice = await choose(
    [candidate("a"), candidate("b")],
    (one) => {
      asked.push(...one.command);
      return ask(one);
    },
    fits,
  );
  assert.deepEqual(choice.server?.command, ["a"]);
  assert.deepEqual(choice.program?.command, ["a"]);
  assert.deepEqual(asked, ["a"]);
});

test("a Python too old for the server stays that of the program", async () => {
  const choice = await choose([candidate("old"), candidate("new")], world({ old: [3, 9, 2], new: [3, 14, 0] }), fits);
  assert.deepEqual(choice.program?.command, ["old"]);
  assert.deepEqual(choice.server?.command, ["new"]);
  assert.match(choice.refusals[0]?.why ?? "", /Python 3\.9.*3\.10 or newer/);
});

test("a Python without libraries for it is passed over, and the reason is one for people", async () => {
  const choice = await choose([candidate("next")], world({ next: [3, 15, 0] }), fits);
  assert.equal(choice.server, undefined);
  assert.equal(choice.refusals[0]?.why, "it is Python 3.15, and this extension carries libraries for 3.10 to 3.14");
  const why = (suffix: string, carried: string[]) =>
    whyUnfit({ command: ["python"], source: "a test", version: [3, 12, 4], suffix }, carried);
  const windows = [".cp311-win_amd64.pyd", ".cp312-win_amd64.pyd"];
  assert.equal(why(".cp312-win_amd64.pyd", windows), undefined);
  assert.match(why(".cp312-win32.pyd", windows) ?? "", /built for another system .*\(cp312-win32\); install GradSense/);
  assert.match(why(".cpython-312-x86_64-linux-musl.so", [".cpython-312-x86_64-linux-gnu.so"]) ?? "", /another system/);
  assert.match(why(".cpython-312t-x86_64-linux-gnu.so", [".cpython-312-x86_64-linux-gnu.so"]) ?? "", /free-threaded/);
  assert.match(why(".cpython-312-x86_64-linux-gnu.so", []) ?? "", /damaged: install it again/);
});

test("what is no Python is told, and asked once only", async () => {
  const choice = await choose([candidate("none"), candidate("none")], world({}), fits);
  assert.deepEqual(
    choice.refusals.map(({ why }) => why),
    ["there is no such program"],
  );
});

test("a real Python answers", async () => {
  const command = [process.env.PYTHON ?? (process.platform === "win32" ? "python" : "python3")];
  const python = await askPython({ source: "a test", command });
  assert.equal(python.version[0], 3);
  assert.match(python.suffix, /^\..*(so|pyd)$/);
});

test("other programs do not, and the reason is one for people", async () => {
  await assert.rejects(askPython(candidate("/nowhere/python")), /there is no such program/);
  await assert.rejects(askPython(candidate(process.execPath)), /not a Python/);
});
