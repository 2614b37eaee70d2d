import { describe, expect, test } from "vitest";
import { connectedAnnotations, disconnectedAnnotations, isDisconnected, isLost } from "./entry-life.ts";
import { REGISTRATION } from "./workload-entry-of.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const at = (ms: number) => new Date(NOW + ms).toISOString();
const entry = (given: { by?: string; connected?: number; gone?: number }) => ({
  ...(given.by !== undefined && { [REGISTRATION.controller]: given.by }),
  ...(given.connected !== undefined && { [REGISTRATION.connectedAt]: at(given.connected) }),
  ...(given.gone !== undefined && { [REGISTRATION.disconnectedAt]: at(given.gone) }),
});
const OURS = {
  [REGISTRATION.controller]: "us",
  [REGISTRATION.connectedAt]: at(0),
  [REGISTRATION.disconnectedAt]: null,
};

describe("a workload that connects now", () => {
  test.each([
    { is: "new to all replicas: is ours", annotations: entry({}), says: OURS },
    { is: "of another replica before: is taken over", annotations: entry({ by: "b", connected: -5 }), says: OURS },
    { is: "gone before: is back", annotations: entry({ by: "b", gone: -5 }), says: OURS },
    { is: "with another replica since: is left to it", annotations: entry({ by: "b", connected: 5 }), says: undefined },
    { is: "gone since: stays so", annotations: entry({ by: "us", gone: 5 }), says: undefined },
    { is: "said already: is not written again", annotations: entry({ by: "us", connected: 0 }), says: undefined },
  ])("$is", ({ annotations, says }) => {
    expect(connectedAnnotations(annotations, "us", NOW)).toEqual(says);
  });
});

describe("a workload whose last stream ended", () => {
  const times = { connectedAt: NOW, disconnectedAt: NOW + 10 };
  const gone = { [REGISTRATION.connectedAt]: null, [REGISTRATION.disconnectedAt]: at(10) };
  test.each([
    { is: "of ours: is gone", annotations: entry({ by: "us", connected: 0 }), says: gone },
    { is: "of another replica: is left to it", annotations: entry({ by: "b", connected: 0 }), says: undefined },
    { is: "with a later stream here: is not gone", annotations: entry({ by: "us", connected: 5 }), says: undefined },
  ])("$is", ({ annotations, says }) => {
    expect(disconnectedAnnotations(annotations, "us", times)).toEqual(says);
  });
});

test("an entry is disconnected when it says so and nothing of a connection", () => {
  expect(isDisconnected(entry({ gone: 0 }))).toBe(true);
  expect(isDisconnected(entry({ gone: 0, connected: 1 }))).toBe(false);
  expect(isDisconnected(entry({}))).toBe(false);
});

test("a connection that is older than streams can be is lost; without a greatest age none is", () => {
  const old = entry({ connected: -16_000 });
  expect(isLost(old, NOW, 10_000)).toBe(true);
  expect(isLost(old, NOW, 11_000)).toBe(false);
  expect(isLost(old, NOW, undefined)).toBe(false);
});
