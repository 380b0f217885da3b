import assert from "node:assert/strict";
import { test } from "node:test";
import { type Finding, marksOf, roleOf, storiesAt } from "../../../client/src/story";

const WRITE: Finding = {
  uri: "file:///a.py",
  line: 16,
  code: "GS201",
  source: "gradsense",
  related: [
    { uri: "file:///a.py", line: 15, message: "`sigmoid` saved it here" },
    { uri: "file:///a.py", line: 36, message: "walked here" },
    { uri: "file:///b.py", line: 57, message: "called here" },
  ],
};

test("the words of the server tell the part that a line plays", () => {
  const words = [
    "`exp` saved it here",
    "`mul` saved for backward here",
    "written here",
    "stepped here",
    "walked again here",
    "freed by this walk",
    "it surfaces here",
    "`linear` made here",
  ];
  assert.deepEqual(words.map(roleOf), ["saved", "saved", "written", "written", "walked", "walked", "walked", "made"]);
  assert.equal(roleOf("called here"), undefined);
});

test("a story has a mark for each of its lines, and for the write that it is about", () => {
  const marks = marksOf(WRITE).map(({ line, role }) => [line, role]);
  assert.deepEqual(marks, [
    [16, "written"],
    [15, "saved"],
    [36, "walked"],
  ]);
});

test("a finding that is no write has no mark of its own", () => {
  assert.deepEqual(marksOf({ ...WRITE, code: "GS101", related: [] }), []);
});

test("a story is told at each of its lines, and nowhere else", () => {
  assert.deepEqual(storiesAt([WRITE], "file:///a.py", 16), [WRITE]);
  assert.deepEqual(storiesAt([WRITE], "file:///a.py", 36), [WRITE]);
  assert.deepEqual(storiesAt([WRITE], "file:///b.py", 57), []);
  assert.deepEqual(storiesAt([WRITE], "file:///a.py", 17), []);
});

test("where a finding stands, others that come by the line are not told", () => {
  const total: Finding = {
    ...WRITE,
    line: 38,
    code: "GS301",
    related: [{ uri: "file:///a.py", line: 16, message: "`add_` made here" }],
  };
  assert.deepEqual(storiesAt([total, WRITE], "file:///a.py", 16), [WRITE]);
  assert.deepEqual(storiesAt([total, WRITE], "file:///a.py", 38), [total]);
});
