import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../../../client/src/backoff";

test("each end in a row doubles the wait, and too many end it", () => {
  const backoff = new Backoff(3, 60_000, 500);
  assert.deepEqual(
    [0, 1, 2, 3].map((now) => backoff.next(now)),
    [500, 1000, 2000, undefined],
  );
});

test("an end long ago does not count", () => {
  const backoff = new Backoff(3, 60_000, 500);
  backoff.next(0);
  backoff.next(1);
  assert.equal(backoff.next(70_000), 500);
});

test("a person who starts it anew gets all tries again", () => {
  const backoff = new Backoff(1, 60_000, 500);
  backoff.next(0);
  assert.equal(backoff.next(1), undefined);
  backoff.reset();
  assert.equal(backoff.next(2), 500);
});
