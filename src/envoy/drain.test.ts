import { expect, test } from "vitest";
import { recordingLogger } from "../../test/support/envoy/life.ts";
import { until } from "../../test/support/wait/until.ts";
import { envoyRules } from "./core/generations.ts";
import { awaitDrained, type DrainContext, requestDrain, type TerminationOptions } from "./drain.ts";

/** An admin whose stats come from a list, the last one again and again; an Error is a failed call. */
function setUp(stats: readonly (string | Error)[], options: Partial<TerminationOptions> = {}) {
  const log = recordingLogger();
  let calls = 0;
  const context: DrainContext = {
    admin: {
      authority: "127.0.0.1:15000",
      drainListeners: async () => "OK\n",
      stats: async () => {
        const answer = stats[Math.min(calls++, stats.length - 1)] ?? "";
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    log,
    rules: envoyRules("master").termination,
    options: {
      drainMs: 20,
      inboundOnly: true,
      ownPorts: [15021],
      checkIntervalMs: 10,
      exitOnZero: { minimumMs: 20, maximumMs: 60_000 },
      ...options,
    },
  };
  return { context, log, calls: () => calls };
}

const never = new AbortController().signal;
const active = (count: number) => `listener.0.0.0.0_8080.downstream_cx_active: ${count}\n`;

test("with exit on zero it counts until no one is left", async () => {
  const t = setUp([active(2), active(1), active(0)]);
  await awaitDrained(t.context, never);
  expect(t.log.texts()).toEqual([
    "info Agent draining proxy for 20ms, then waiting for active connections to terminate...",
    "info Checking for active connections...",
    "info There are still 2 active connections",
    "info There are still 1 active connections",
    "info There are no more active connections. terminating proxy...",
  ]);
});

test("stats that are not there end it", async () => {
  const t = setUp([""]);
  await awaitDrained(t.context, never);
  expect(t.log.texts().at(-1)).toBe(
    "info downstream_cx_active are not available. This either means there are no downstream connection established yet or the stats are not enabled. Skipping active connections check...",
  );
});

test("the fifth error in a row ends it; a success in between resets the count", async () => {
  const error = new Error("unexpected status 500");
  const t = setUp([error, error, active(1), error, error, error, error, error]);
  await awaitDrained(t.context, never);
  expect(t.calls()).toBe(8);
  expect(t.log.texts().filter((line) => line.startsWith("error"))).toEqual(
    Array(7).fill("error unable to get listener stats from Envoy : unexpected status 500"),
  );
  expect(t.log.texts().filter((line) => line.startsWith("warn"))).toEqual([
    "warn Retrying (1 attempt) to obtain active connections...",
    "warn Retrying (2 attempt) to obtain active connections...",
    "warn Retrying (1 attempt) to obtain active connections...",
    "warn Retrying (2 attempt) to obtain active connections...",
    "warn Retrying (3 attempt) to obtain active connections...",
    "warn Retrying (4 attempt) to obtain active connections...",
    "warn Graceful termination logic ended prematurely, error while obtaining downstream_cx_active stat (Max retry 5 exceeded)",
  ]);
});

test("who comes between the last count and the end is waited for: the listeners are closed, and it counts again", async () => {
  const t = setUp([active(0), active(1), active(0)]);
  const asked: unknown[] = [];
  const admin = {
    ...t.context.admin,
    drainListeners: async (options: object) => String(asked.push({ ...options, counts: t.calls() })),
  };
  await awaitDrained({ ...t.context, admin }, never);
  const closed = { graceful: false, skipExit: false, inboundOnly: true };
  expect(asked).toMatchObject([
    { ...closed, counts: 1 },
    { ...closed, counts: 3 },
  ]);
  expect(t.calls()).toBe(4);
  expect(t.log.texts().at(-1)).toBe("info There are no more active connections. terminating proxy...");
});

test("before the deadline the listeners are closed", async () => {
  const t = setUp([active(1)], { exitOnZero: { minimumMs: 0, maximumMs: 50 } });
  const asked: unknown[] = [];
  const admin = { ...t.context.admin, drainListeners: async (options: object) => String(asked.push(options)) };
  await awaitDrained({ ...t.context, admin }, never);
  expect(asked).toMatchObject([{ graceful: false }]);
  expect(t.log.texts().at(-1)).toContain("did not end within");
});

test("the deadline ends it with connections left", async () => {
  const t = setUp([active(1)], { exitOnZero: { minimumMs: 0, maximumMs: 50 } });
  await awaitDrained(t.context, never);
  expect(t.log.texts().at(-1)).toBe("warn Active connections did not end within 50ms, terminating proxy...");
});

test.each([
  { what: "the minimum", options: { exitOnZero: { minimumMs: 60_000, maximumMs: 60_000 } } },
  { what: "the count", options: { exitOnZero: { minimumMs: 0, maximumMs: 60_000 } } },
])("an abort during $what ends it without a word", async ({ options }) => {
  const t = setUp([active(1)], options);
  const cut = new AbortController();
  const done = awaitDrained(t.context, cut.signal);
  await until("its start", () => t.log.lines.length > 0);
  cut.abort();
  await done;
  expect(t.log.texts().some((line) => line.includes("terminating proxy"))).toBe(false);
});

test("a plain period may be cut short too", async () => {
  const { exitOnZero: _none, ...plain } = setUp([]).context.options;
  const t = setUp([]);
  const cut = new AbortController();
  const done = awaitDrained({ ...t.context, options: { ...plain, drainMs: 60_000 } }, cut.signal);
  cut.abort();
  await done;
  expect(t.log.texts()).toEqual(["info Graceful termination period is 1m0s, starting..."]);
});

test("generation 1.20 puts up with no failed look at the connections", async () => {
  const t = setUp([new Error("gone")]);
  await awaitDrained({ ...t.context, rules: envoyRules("1.20").termination }, never);
  expect(t.calls()).toBe(1);
});

test.each([
  { generation: "master", inboundOnly: false, asked: { inboundOnly: false, graceful: true } },
  { generation: "1.7", inboundOnly: false, asked: { inboundOnly: false, graceful: false } },
  { generation: "1.6", inboundOnly: false, asked: { inboundOnly: true, graceful: false } },
  { generation: "master", inboundOnly: true, asked: { inboundOnly: true, graceful: true } },
])(
  "generation $generation with inboundOnly $inboundOnly asks for $asked",
  async ({ generation, inboundOnly, asked }) => {
    const t = setUp([], { inboundOnly });
    const seen: unknown[] = [];
    const admin = { ...t.context.admin, drainListeners: async (options: object) => String(seen.push(options)) };
    await requestDrain({ ...t.context, admin, rules: envoyRules(generation).termination }, false);
    expect(seen).toMatchObject([asked]);
  },
);

test("a drain that keeps the listeners is always graceful, as Envoy demands", async () => {
  const t = setUp([]);
  const seen: unknown[] = [];
  const admin = { ...t.context.admin, drainListeners: async (options: object) => String(seen.push(options)) };
  await requestDrain({ ...t.context, admin, rules: envoyRules("1.7").termination }, true);
  expect(seen).toMatchObject([{ graceful: true, skipExit: true }]);
});

test("a drain request that fails is logged in both of the reference's lines", async () => {
  const t = setUp([]);
  const admin = { ...t.context.admin, drainListeners: () => Promise.reject(new Error("no route")) };
  await requestDrain({ ...t.context, admin }, false);
  expect(t.log.texts()).toEqual([
    "info failed draining listeners for Envoy on port 15000: no route",
    "warn Error in invoking drain listeners endpoint: no route",
  ]);
});

test.each([
  { what: "a period", exitOnZero: {} },
  { what: "exit on zero", exitOnZero: { exitOnZero: { minimumMs: 20, maximumMs: 60_000 } } },
])("when all is over before Envoy has answered, $what is not even announced", async ({ exitOnZero }) => {
  const { context, log } = setUp([active(1)]);
  const { exitOnZero: _usual, ...options } = context.options;
  await awaitDrained({ ...context, options: { ...options, ...exitOnZero } }, AbortSignal.abort());
  expect(log.texts()).toEqual([]);
});

test("a drain of centuries is not over at once", async () => {
  const { context } = setUp([]);
  const { exitOnZero: _usual, ...options } = context.options;
  const cut = new AbortController();
  let isOver = false;
  const drained = awaitDrained({ ...context, options: { ...options, drainMs: 9.2e12 } }, cut.signal).then(() => {
    isOver = true;
  });
  await new Promise((later) => setTimeout(later, 20));
  expect(isOver).toBe(false);
  cut.abort();
  await drained;
});
