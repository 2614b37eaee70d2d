import { expect, test } from "vitest";
import { errorCode, errorMessage } from "./coded-error.ts";

test.each([
  { thrown: new Error("no luck"), want: "no luck" },
  { thrown: "just text", want: "just text" },
  { thrown: undefined, want: "undefined" },
  { thrown: new AggregateError([new Error("a"), new Error("b")], "two failures"), want: "two failures" },
  { thrown: new AggregateError([new Error("connect ENETUNREACH"), "odd"]), want: "connect ENETUNREACH; odd" },
  { thrown: new AggregateError([]), want: "" },
])("the text of $thrown is $want", ({ thrown, want }) => {
  expect(errorMessage(thrown)).toBe(want);
});

test.each([
  { thrown: Object.assign(new Error("x"), { code: "ENOENT" }), want: "ENOENT" },
  { thrown: { code: 7 }, want: undefined },
  { thrown: null, want: undefined },
  { thrown: "ENOENT", want: undefined },
])("the code of $thrown is $want", ({ thrown, want }) => {
  expect(errorCode(thrown)).toBe(want);
});
