import { expect, test } from "vitest";
import { type DeltaRequest, deltaOutcome, NEW_DELTA_SUBSCRIPTION } from "./delta-subscription.ts";

const request = (given: Partial<DeltaRequest>): DeltaRequest => ({
  subscribe: [],
  unsubscribe: [],
  initialVersions: new Map(),
  responseNonce: "",
  ...given,
});
const watching = (...names: string[]) => ({ watched: new Set(names), nonce: "n1" });

test("subscribed names are watched and answered, unsubscribed ones neither", () => {
  const outcome = deltaOutcome(watching("a", "b"), request({ subscribe: ["c"], unsubscribe: ["a"] }));
  expect(outcome).toMatchObject({ watched: new Set(["b", "c"]), answer: ["c"], isStale: false });
});

test("a name subscribed to again is answered again", () => {
  expect(deltaOutcome(watching("a"), request({ subscribe: ["a"] })).answer).toEqual(["a"]);
});

test("an acknowledgement asks for nothing", () => {
  expect(deltaOutcome(watching("a"), request({ responseNonce: "n1" }))).toMatchObject({ answer: [], isStale: false });
});

test("a stale nonce is noticed and the subscription still counts", () => {
  const outcome = deltaOutcome(watching("a"), request({ responseNonce: "old", subscribe: ["b"] }));
  expect(outcome).toMatchObject({ answer: ["b"], isStale: true });
});

test("versions of a former stream count in the first request only", () => {
  const known = new Map([["a", "v1"]]);
  const given = request({ subscribe: ["a"], initialVersions: known, responseNonce: "former" });
  expect(deltaOutcome(NEW_DELTA_SUBSCRIPTION, given)).toMatchObject({ known, isStale: false });
  expect(deltaOutcome(watching("a"), given).known.size).toBe(0);
});
