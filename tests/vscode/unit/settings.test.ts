import assert from "node:assert/strict";
import { test } from "node:test";
import { asCommand, forServer } from "../../../client/src/settings";
import { faceOf } from "../../../client/src/status";

test("the server is told its own settings, the interpreter that was found, and whether it may run", () => {
  const section = { enable: true, gutterMarks: "all", path: ["x"], run: { passes: 5, openReport: "always" } };
  assert.deepEqual(forServer(section, ["/py"], false), {
    enable: true,
    run: { passes: 5 },
    interpreter: ["/py"],
    trusted: false,
  });
});

test("the editor's own settings are left as they are", () => {
  const section = { run: { openReport: "always" } };
  forServer(section, undefined, true);
  assert.deepEqual(section, { run: { openReport: "always" } });
});

test("a command is text or a list, and empty is none", () => {
  assert.deepEqual(asCommand("/py"), ["/py"]);
  assert.deepEqual(asCommand(["py", "-3"]), ["py", "-3"]);
  for (const empty of ["", " ", [], undefined, null, 3]) assert.equal(asCommand(empty), undefined);
});

test("the status item says how the server is", () => {
  const ready = { state: "ready", version: "0.1", python: "3.11" } as const;
  assert.equal(faceOf(ready, 2, false).text, "$(graph-line) GradSense: 2");
  assert.match(faceOf(ready, 1, false).tooltip, /1 finding here/);
  assert.match(faceOf(ready, 2, true).text, /running/);
  assert.ok(faceOf({ state: "down", retryMs: 500 }, 0, false).alarm);
  assert.match(faceOf({ state: "down", retryMs: 500 }, 0, false).tooltip, /again in 0\.5 s/);
  assert.ok(faceOf({ state: "noInterpreter" }, 0, false).alarm);
});
