import { describe, expect, test } from "vitest";
import { createNameList, NO_NAMES } from "./name-list.ts";
import {
  createSubscription,
  type Nack,
  nextSotw,
  type SotwRequest,
  type Subscription,
  syncState,
  withSent,
} from "./subscription.ts";

const BAD = { code: 13, message: "bad" };

const toNameList = createNameList;
const sent = (names: readonly string[], nonce = "n1"): Subscription =>
  withSent(createSubscription(false, createNameList(names)), { nonce, version: "v1", now: 5 });
const wild = (nonce = "n1"): Subscription =>
  withSent(createSubscription(true, NO_NAMES), { nonce, version: "v1", now: 5 });

interface Row {
  readonly when: string;
  readonly subscription: Subscription | undefined;
  readonly request: Partial<SotwRequest>;
  readonly event: string;
  readonly answer: unknown;
  readonly names?: readonly string[] | undefined;
  readonly acked?: string;
  readonly error?: Nack;
}

function decide(row: Row, needsNames: boolean) {
  const request = { names: [], nonce: "", error: undefined, ...row.request };
  return nextSotw(row.subscription, request, { needsNames, toNameList });
}

describe("a type whose clients give names (EDS, RDS)", () => {
  const rows: readonly Row[] = [
    {
      when: "the first request",
      subscription: undefined,
      request: { names: ["b", "a", "a"] },
      event: "subscribed",
      answer: "everything",
      names: ["a", "b"],
    },
    {
      when: "a reconnect with version and nonce of another server",
      subscription: undefined,
      request: { names: ["a"], nonce: "other" },
      event: "subscribed",
      answer: "everything",
      names: ["a"],
    },
    {
      when: "no nonce on a type that was answered before",
      subscription: sent(["a"]),
      request: { names: ["a", "b"] },
      event: "subscribed",
      answer: "everything",
      names: ["a", "b"],
    },
    {
      when: "no names",
      subscription: sent(["a"]),
      request: { nonce: "n1" },
      event: "unsubscribed",
      answer: "nothing",
      names: undefined,
    },
    {
      when: "no names on the first request",
      subscription: undefined,
      request: {},
      event: "unsubscribed",
      answer: "nothing",
      names: undefined,
    },
    {
      when: "an older nonce",
      subscription: sent(["a"]),
      request: { names: ["a", "b"], nonce: "n0" },
      event: "stale",
      answer: "nothing",
      names: ["a"],
      acked: "",
    },
    {
      when: "an acknowledgement",
      subscription: sent(["a", "b"]),
      request: { names: ["b", "a"], nonce: "n1" },
      event: "acked",
      answer: "nothing",
      names: ["a", "b"],
      acked: "n1",
    },
    {
      when: "names added",
      subscription: sent(["a"]),
      request: { names: ["a", "c", "b"], nonce: "n1" },
      event: "changed",
      answer: ["c", "b"],
      names: ["a", "b", "c"],
      acked: "n1",
    },
    {
      when: "names removed only",
      subscription: sent(["a", "b"]),
      request: { names: ["b"], nonce: "n1" },
      event: "changed",
      answer: "nothing",
      names: ["b"],
      acked: "n1",
    },
    {
      when: "a refusal without names",
      subscription: sent(["a"]),
      request: { nonce: "n1", error: BAD },
      event: "nacked",
      answer: "nothing",
      names: ["a"],
      acked: "",
      error: BAD,
    },
    {
      when: "a refusal",
      subscription: sent(["a"]),
      request: { names: ["a"], nonce: "n1", error: BAD },
      event: "nacked",
      answer: "nothing",
      names: ["a"],
      acked: "",
      error: BAD,
    },
    {
      when: "a refusal that also adds a name",
      subscription: sent(["a"]),
      request: { names: ["a", "b"], nonce: "n1", error: BAD },
      event: "nacked",
      answer: ["b"],
      names: ["a", "b"],
      acked: "",
      error: BAD,
    },
    {
      when: "a refusal of an older answer",
      subscription: sent(["a"]),
      request: { names: ["a"], nonce: "n0", error: BAD },
      event: "nacked",
      answer: "nothing",
      names: ["a"],
      error: BAD,
    },
  ];

  test.each(rows)("$when: $event, answers $answer", (row) => {
    const decision = decide(row, true);
    expect(decision).toMatchObject({ event: row.event, answer: row.answer });
    expect(decision.subscription?.names.list).toEqual(row.names);
    if (row.acked !== undefined) expect(decision.subscription?.nonceAcked).toBe(row.acked);
    expect(decision.subscription?.error).toBe(row.error);
  });

  test("an acknowledgement after a refusal clears the error", () => {
    const refused = decide(
      {
        when: "",
        subscription: sent(["a"]),
        request: { names: ["a"], nonce: "n1", error: BAD },
        event: "",
        answer: "",
      },
      true,
    );
    expect(syncState(refused.subscription)).toBe("ERROR");
    const again = refused.subscription && withSent(refused.subscription, { nonce: "n2", version: "v2", now: 6 });
    const accepted = nextSotw(again, { names: ["a"], nonce: "n2", error: undefined }, { needsNames: true, toNameList });
    expect(accepted.subscription).toMatchObject({ error: undefined, nonceAcked: "n2", versionAcked: "v2" });
    expect(syncState(accepted.subscription)).toBe("SYNCED");
  });
});

describe("a type with wildcard subscriptions (CDS, LDS)", () => {
  const rows: readonly Row[] = [
    {
      when: "no names at first",
      subscription: undefined,
      request: {},
      event: "subscribed",
      answer: "everything",
      names: [],
    },
    {
      when: "the star",
      subscription: undefined,
      request: { names: ["*"] },
      event: "subscribed",
      answer: "everything",
      names: [],
    },
    {
      when: "an acknowledgement",
      subscription: wild(),
      request: { nonce: "n1" },
      event: "acked",
      answer: "nothing",
      names: [],
    },
    {
      when: "an acknowledgement again",
      subscription: wild(),
      request: { nonce: "n1" },
      event: "acked",
      answer: "nothing",
      names: [],
    },
    {
      when: "names of a proxyless client",
      subscription: undefined,
      request: { names: ["x:80"] },
      event: "subscribed",
      answer: "everything",
      names: ["x:80"],
    },
    {
      when: "the star after names",
      subscription: sent(["x:80"]),
      request: { names: ["*", "x:80"], nonce: "n1" },
      event: "changed",
      answer: "everything",
      names: ["x:80"],
    },
  ];

  test.each(rows)("$when: $event, answers $answer", (row) => {
    const decision = decide(row, false);
    expect(decision).toMatchObject({ event: row.event, answer: row.answer });
    expect(decision.subscription?.names.list).toEqual(row.names);
  });
});

test("a type that was never answered, or whose answer is on its way, is not in sync", () => {
  expect(syncState(undefined)).toBe("NOT_SENT");
  expect(syncState(createSubscription(true, NO_NAMES))).toBe("NOT_SENT");
  expect(syncState(wild())).toBe("STALE");
});
