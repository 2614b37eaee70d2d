import { expect, test } from "vitest";
import { trackModulesInUse } from "../open-converter.ts";

test("a file is in use while a resource of a stream names it", () => {
  const inUse = trackModulesInUse();
  const stream = new AbortController().signal;
  inUse.note(stream, "one", "/a");
  inUse.note(stream, "two", "/b");
  inUse.note(stream, "one", "/c");
  inUse.note(stream, "two", undefined);
  expect(["/a", "/b", "/c"].map((path) => inUse.has(path))).toEqual([false, false, true]);
});

test("the files of an ended stream count until a later stream has named its own", () => {
  const inUse = trackModulesInUse();
  const [old, fresh, parallel] = [new AbortController(), new AbortController(), new AbortController()];
  inUse.note(old.signal, "one", "/a");
  inUse.note(parallel.signal, "one", "/p");
  old.abort();
  expect(inUse.has("/a")).toBe(true);
  inUse.note(fresh.signal, "one", "/b");
  expect(["/a", "/b", "/p"].map((path) => inUse.has(path))).toEqual([false, true, true]);
});
