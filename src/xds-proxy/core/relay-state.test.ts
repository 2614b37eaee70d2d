import { describe, expect, test } from "vitest";
import { CLUSTER_TYPE, EXTENSION_TYPE, NAME_TABLE_TYPE } from "../../xds/type-urls.ts";
import { isForwardedEarly, responseAction, responseDecided, responseStarted, type TypeRules } from "./relay-state.ts";

const rules = (internalState: TypeRules["internalState"]): TypeRules => ({
  converted: new Set([EXTENSION_TYPE]),
  internal: new Set([NAME_TABLE_TYPE]),
  internalState,
});

test.each([
  { typeUrl: CLUSTER_TYPE, internalState: "never", action: "forward", early: true },
  { typeUrl: EXTENSION_TYPE, internalState: "never", action: "convert", early: false },
  { typeUrl: NAME_TABLE_TYPE, internalState: "never", action: "drop", early: false },
  { typeUrl: NAME_TABLE_TYPE, internalState: "subscribed", action: "hold", early: false },
  { typeUrl: NAME_TABLE_TYPE, internalState: "unsubscribed", action: "drop", early: false },
  { typeUrl: "type.googleapis.com/envoy.unheard.of", internalState: "never", action: "forward", early: false },
  { typeUrl: "istio.io/debug/syncz", internalState: "subscribed", action: "drop", early: false },
  { typeUrl: "", internalState: "subscribed", action: "drop", early: false },
] as const)("$typeUrl with the agent's subscription $internalState: $action", (row) => {
  const { typeUrl, internalState, action, early } = row;
  expect(responseAction(typeUrl, rules(internalState))).toBe(action);
  expect(isForwardedEarly(typeUrl, rules(internalState))).toBe(early);
});

describe("a response", () => {
  const pieces = [Buffer.from("a")];

  test("is undecided until its type is known", () => {
    expect(responseStarted(7)).toEqual({ phase: "undecided", length: 7, pieces: [] });
  });

  test.each([
    { action: "forward", isRecorded: false, state: { phase: "forwarding", copy: undefined } },
    { action: "forward", isRecorded: true, state: { phase: "forwarding", copy: pieces } },
    { action: "hold", isRecorded: false, state: { phase: "collecting", action: "hold", pieces } },
    { action: "convert", isRecorded: false, state: { phase: "collecting", action: "convert", pieces } },
    { action: "drop", isRecorded: false, state: { phase: "dropping" } },
  ] as const)("to $action, recorded: $isRecorded, is then $state.phase", ({ action, isRecorded, state }) => {
    expect(responseDecided(action, pieces, isRecorded)).toEqual(state);
  });
});
