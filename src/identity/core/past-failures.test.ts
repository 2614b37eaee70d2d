import { expect, test } from "vitest";
import { addFailure, type PastFailure } from "./past-failures.ts";

const NONE: readonly PastFailure[] = [];

test("failures in a row for one reason are one entry with a count, its beginning and its end", () => {
  const once = addFailure(NONE, "CA is down", { atMs: 1000, isAgain: false });
  expect(addFailure(once, "CA is down", { atMs: 3000, isAgain: true })).toEqual([
    { message: "CA is down", atMs: 3000, sinceMs: 1000, count: 2 },
  ]);
});

test("another reason, and the same one after a success, are entries of their own, newest first", () => {
  const first = addFailure(NONE, "CA is down", { atMs: 1000, isAgain: false });
  const second = addFailure(first, "token expired", { atMs: 2000, isAgain: true });
  const third = addFailure(second, "token expired", { atMs: 9000, isAgain: false });
  expect(third.map(({ message, atMs }) => [message, atMs])).toEqual([
    ["token expired", 9000],
    ["token expired", 2000],
    ["CA is down", 1000],
  ]);
});

test("the ten newest stay", () => {
  let failures = NONE;
  for (let at = 1; at <= 30; at += 1) failures = addFailure(failures, `reason ${at}`, { atMs: at, isAgain: true });
  expect(failures.map(({ atMs }) => atMs)).toEqual([30, 29, 28, 27, 26, 25, 24, 23, 22, 21]);
});
