import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
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
  assert.deepEqual(asCommand("/py", "/w"), ["/py"]);
  assert.deepEqual(asCommand(["py", "-3"], "/w"), ["py", "-3"]);
  for (const empty of ["", " ", [], undefined, null, 3]) assert.equal(asCommand(empty, "/w"), undefined);
});

test("a command may be named from the workspace folder, the home folder or a variable", () => {
  process.env.GRADSENSE_TEST_FOLDER = "/opt";
  assert.deepEqual(asCommand(".venv/bin/python", "/w"), [join("/w", ".venv/bin/python")]);
  assert.deepEqual(asCommand("${workspaceFolder}/py", "/w"), ["/w/py"]);
  assert.deepEqual(asCommand("~/py", "/w"), [`${homedir()}/py`]);
  assert.deepEqual(asCommand("${env:GRADSENSE_TEST_FOLDER}/py", undefined), ["/opt/py"]);
  assert.deepEqual(asCommand("python3", "/w"), ["python3"]);
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
