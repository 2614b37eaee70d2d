import { describe, expect, test } from "vitest";
import { createNameList, NO_NAMES } from "./name-list.ts";
import {
  createSubscription,
  type DeltaRequest,
  type Nack,
  nextDelta,
  type Subscription,
  withSent,
} from "./subscription.ts";

const BAD = { code: 13, message: "bad" };

const sent = (names: readonly string[], isWildcard = false): Subscription =>
  withSent(createSubscription(isWildcard, names.length === 0 ? NO_NAMES : createNameList(names)), {
    nonce: "n1",
    version: "v1",
    now: 5,
  });

interface Row {
  readonly when: string;
  readonly subscription?: Subscription;
  readonly request: Partial<DeltaRequest>;
  readonly needsNames: boolean;
  readonly event: string;
  readonly answer: unknown;
  readonly names: readonly string[];
  readonly isWildcard?: boolean;
  readonly acked?: string;
  readonly error?: Nack;
}

const held = (...names: readonly string[]) => new Map(names.map((name) => [name, "1"]));

describe.each<Row>([
  {
    when: "CDS first, without names",
    needsNames: false,
    request: {},
    event: "subscribed",
    answer: "everything",
    names: [],
    isWildcard: true,
  },
  {
    when: "CDS first, with the star",
    needsNames: false,
    request: { subscribe: ["*"] },
    event: "subscribed",
    answer: "everything",
    names: [],
    isWildcard: true,
  },
  {
    when: "CDS first, by names",
    needsNames: false,
    request: { subscribe: ["a"] },
    event: "subscribed",
    answer: "everything",
    names: ["a"],
  },
  {
    when: "CDS reconnect",
    needsNames: false,
    request: { held: held("a", "b") },
    event: "subscribed",
    answer: "everything",
    names: [],
    isWildcard: true,
  },
  {
    when: "CDS first, star and names",
    needsNames: false,
    request: { subscribe: ["*", "a"] },
    event: "subscribed",
    answer: "everything",
    names: ["a"],
    isWildcard: true,
  },
  {
    when: "EDS first, without names",
    needsNames: true,
    request: {},
    event: "subscribed",
    answer: "nothing",
    names: [],
  },
  {
    when: "EDS first",
    needsNames: true,
    request: { subscribe: ["b", "a"] },
    event: "subscribed",
    answer: "everything",
    names: ["a", "b"],
  },
  {
    when: "EDS reconnect: what is held is wanted",
    needsNames: true,
    request: { subscribe: ["b"], held: held("a") },
    event: "subscribed",
    answer: "everything",
    names: ["a", "b"],
  },
  {
    when: "EDS reconnect that drops one of them",
    needsNames: true,
    request: { held: held("a", "b"), unsubscribe: ["a"] },
    event: "subscribed",
    answer: "everything",
    names: ["b"],
  },
  {
    when: "EDS first with a nonce of another stream",
    needsNames: true,
    request: { subscribe: ["a"], nonce: "x" },
    event: "subscribed",
    answer: "everything",
    names: ["a"],
  },
  {
    when: "an acknowledgement",
    needsNames: true,
    subscription: sent(["a"]),
    request: { nonce: "n1" },
    event: "acked",
    answer: "nothing",
    names: ["a"],
    acked: "n1",
  },
  {
    when: "an acknowledgement with a new name",
    needsNames: true,
    subscription: sent(["a"]),
    request: { nonce: "n1", subscribe: ["b"] },
    event: "changed",
    answer: ["b"],
    names: ["a", "b"],
    acked: "n1",
  },
  {
    when: "a spontaneous subscription",
    needsNames: true,
    subscription: sent(["a"]),
    request: { subscribe: ["b"] },
    event: "changed",
    answer: ["b"],
    names: ["a", "b"],
    acked: "",
  },
  {
    when: "a name asked for again",
    needsNames: true,
    subscription: sent(["a"]),
    request: { subscribe: ["a"] },
    event: "changed",
    answer: ["a"],
    names: ["a"],
  },
  {
    when: "only unsubscribed",
    needsNames: true,
    subscription: sent(["a", "b"]),
    request: { unsubscribe: ["a"] },
    event: "changed",
    answer: "nothing",
    names: ["b"],
  },
  {
    when: "subscribed and unsubscribed at once",
    needsNames: true,
    subscription: sent(["a"]),
    request: { subscribe: ["b"], unsubscribe: ["b"] },
    event: "changed",
    answer: "nothing",
    names: ["a"],
  },
  {
    when: "a stale nonce keeps its subscriptions",
    needsNames: true,
    subscription: sent(["a"]),
    request: { nonce: "n0", subscribe: ["b"] },
    event: "stale",
    answer: ["b"],
    names: ["a", "b"],
    acked: "",
  },
  {
    when: "a refusal",
    needsNames: true,
    subscription: sent(["a"]),
    request: { nonce: "n1", error: BAD },
    event: "nacked",
    answer: "nothing",
    names: ["a"],
    acked: "",
    error: BAD,
  },
  {
    when: "a refusal with a new name",
    needsNames: true,
    subscription: sent(["a"]),
    request: { nonce: "n1", error: BAD, subscribe: ["b"] },
    event: "nacked",
    answer: ["b"],
    names: ["a", "b"],
    error: BAD,
  },
  {
    when: "the star is given up",
    needsNames: false,
    subscription: sent(["a"], true),
    request: { unsubscribe: ["*"] },
    event: "changed",
    answer: "nothing",
    names: ["a"],
    isWildcard: false,
  },
  {
    when: "the star comes later",
    needsNames: false,
    subscription: sent(["a"]),
    request: { subscribe: ["*"] },
    event: "changed",
    answer: "everything",
    names: ["a"],
    isWildcard: true,
  },
])("$when", ({ subscription, request, needsNames, event, answer, names, isWildcard = false, acked, error }) => {
  test(`${event}, answers ${JSON.stringify(answer)}`, () => {
    const full = { subscribe: [], unsubscribe: [], held: new Map(), nonce: "", error: undefined, ...request };
    const decision = nextDelta(subscription, full, { needsNames, toNameList: createNameList });
    expect(decision).toMatchObject({ event, answer });
    expect(decision.subscription).toMatchObject({ isWildcard, error });
    expect(decision.subscription?.names.list).toEqual(names);
    if (acked !== undefined) expect(decision.subscription?.nonceAcked).toBe(acked);
  });
});
