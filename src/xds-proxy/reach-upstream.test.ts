import { expect, test } from "vitest";
import { GrpcError } from "../grpc/status.ts";
import type { GrpcStatusName } from "../protocol/grpc-status-names.ts";
import type { LastGood } from "./last-good/start-last-good.ts";
import { SilentUpstream } from "./last-good/until-silent.ts";
import { judgeUnanswered } from "./reach-upstream.ts";

function lastGoodThatIs(due: boolean) {
  const notes: string[] = [];
  const lastGood: Pick<LastGood, "dueInMs" | "noteReachable" | "noteUnreachable"> = {
    dueInMs: () => (due ? 0 : 1),
    noteReachable: () => void notes.push("reachable"),
    noteUnreachable: () => void notes.push("unreachable"),
  };
  return { notes, lastGood: lastGood as LastGood };
}
const failed = (code: GrpcStatusName) => new GrpcError(code, "why");

test.each([
  { what: "a refusal", failure: failed("UNAUTHENTICATED"), due: true, note: "reachable", serves: undefined },
  { what: "a bad node", failure: failed("INVALID_ARGUMENT"), due: true, note: "reachable", serves: undefined },
  { what: "a front, at first", failure: failed("UNAVAILABLE"), due: false, note: "unreachable", serves: undefined },
  { what: "a front, for long", failure: failed("UNAVAILABLE"), due: true, note: "unreachable", serves: "UNAVAILABLE" },
  {
    what: "rate limits",
    failure: failed("RESOURCE_EXHAUSTED"),
    due: true,
    note: "unreachable",
    serves: "RESOURCE_EXHAUSTED",
  },
  { what: "a clean end, at first", failure: undefined, due: false, note: "unreachable", serves: undefined },
  { what: "a clean end, for long", failure: undefined, due: true, note: "unreachable", serves: "UNAVAILABLE" },
  {
    what: "silence, which has lasted",
    failure: new SilentUpstream(),
    due: false,
    note: "unreachable",
    serves: "UNAVAILABLE",
  },
  { what: "what is not a status", failure: new Error("gone"), due: true, note: "unreachable", serves: "UNKNOWN" },
])("$what instead of a response: $note", ({ failure, due, note, serves }) => {
  const { lastGood, notes } = lastGoodThatIs(due);
  expect(judgeUnanswered(lastGood, { side: "upstream", failure })?.failure.code).toBe(serves);
  expect(notes).toEqual([note]);
});

test("a client that leaves says nothing about the control plane, and without anything retained nothing is noted", () => {
  const { lastGood, notes } = lastGoodThatIs(true);
  expect(judgeUnanswered(lastGood, { side: "downstream", failure: failed("CANCELLED") })).toBeUndefined();
  expect(judgeUnanswered(undefined, { side: "upstream", failure: undefined })).toBeUndefined();
  expect(notes).toEqual([]);
});
