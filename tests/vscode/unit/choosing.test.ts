import assert from "node:assert/strict";
import { test } from "node:test";
import { askPython, type Candidate, choose, type Python, whyUnfit } from "../../../client/src/choosing";

const CARRIED = [".cpython-310-x.so", ".cpython-314-x.so"];

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

test("a Python without libraries for it is passed over", async () => {
  const choice = await choose([candidate("next")], world({ next: [3, 15, 0] }), fits);
  assert.equal(choice.server, undefined);
  assert.match(choice.refusals[0]?.why ?? "", /no libraries for it \(cpython-315-x\.so\)/);
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
