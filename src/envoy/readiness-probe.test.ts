import { expect, test } from "vitest";
import { recordingLogger } from "../../test/support/envoy/life.ts";
import { envoyRules } from "./core/generations.ts";
import { envoyReadinessProbe } from "./readiness-probe.ts";

const CONFIG = "cluster_manager.cds.update_success: 1\nlistener_manager.lds.update_success: 1\n";
const SERVER = "server.state: 0\nlistener_manager.workers_started: 1\n";

/** An admin whose two answers the test sets; undefined is an admin that is gone. */
function setUp(generation = "master") {
  const answers: { config: string | undefined; server: string | undefined } = { config: CONFIG, server: SERVER };
  const asked: string[] = [];
  const filters: string[] = [];
  const log = recordingLogger();
  const firstReady: number[] = [];
  let cause: string | undefined;
  const probe = envoyReadinessProbe({
    admin: {
      stats: async (query = "", timeoutMs) => {
        filters.push(query);
        asked.push(`${query.includes("cds") ? "config" : "server"} ${timeoutMs}`);
        const answer = query.includes("cds") ? answers.config : answers.server;
        if (answer === undefined) throw new Error("connection refused");
        return answer;
      },
    },
    log,
    rules: envoyRules(generation).readiness,
    terminationCause: () => cause,
    uptimeMs: () => 352.4,
    onFirstReady: (uptime) => void firstReady.push(uptime),
  });
  const terminate = (why: string) => {
    cause = why;
  };
  return { answers, asked, filters, log, firstReady, probe, terminate };
}

test("ready needs both questions, each with its time limit, and is announced once", async () => {
  const t = setUp();
  expect(await t.probe.check()).toBeUndefined();
  expect(await t.probe.check()).toBeUndefined();
  expect(t.asked).toEqual(["config 1000", "server 3000"]);
  expect(t.log.texts()).toEqual(["info Readiness succeeded in 352.4ms"]);
  expect(t.firstReady).toEqual([352.4]);
});

test("an Envoy that has its configuration is not asked for it again", async () => {
  const t = setUp();
  t.answers.server = "server.state: 3\nlistener_manager.workers_started: 0\n";
  await t.probe.check();
  t.asked.length = 0;
  await t.probe.check();
  expect(t.asked).toEqual(["server 3000"]);
});

test("failures are asked again, success sticks even when Envoy's admin is gone", async () => {
  const t = setUp();
  t.answers.config = "";
  expect(await t.probe.check()).toContain("config not received");
  expect(await t.probe.check()).toContain("config not received");
  t.answers.config = CONFIG;
  t.answers.server = "server.state: 2\nlistener_manager.workers_started: 0\n";
  expect(await t.probe.check()).toBe("server is not live, current state is: PRE_INITIALIZING");
  t.answers.config = undefined;
  t.answers.server = SERVER;
  expect(await t.probe.check()).toBeUndefined();
  t.answers.server = undefined;
  expect(await t.probe.check()).toBeUndefined();
});

test("an admin that is gone is the reason", async () => {
  const t = setUp();
  t.answers.config = undefined;
  expect(await t.probe.check()).toBe("connection refused");
});

test("termination makes it unready regardless of what the stats say", async () => {
  const t = setUp();
  await t.probe.check();
  t.terminate("received signal: terminated");
  expect(await t.probe.check()).toBe("server is terminated: received signal: terminated");
});

test("after a reset the next Envoy has to show it again, also when an answer of the old one is still on its way", async () => {
  const t = setUp();
  const inFlight = t.probe.check();
  t.probe.reset();
  await inFlight;
  t.answers.config = "";
  expect(await t.probe.check()).toContain("config not received");
  t.answers.config = CONFIG;
  expect(await t.probe.check()).toBeUndefined();
  expect(t.firstReady).toHaveLength(1);
});

test.each([
  { generation: "1.20", says: "server is not live, current state is: DRAINING" },
  { generation: "1.8", says: "server is not live, current state is: DRAINING" },
  { generation: "master", says: "server is terminated: received signal: terminated" },
])("an agent of $generation that is ending says: $says", async ({ generation, says }) => {
  const t = setUp(generation);
  t.terminate("received signal: terminated");
  expect(await t.probe.check()).toBe(says);
});

test.each(["1.8", "1.7", "1.6", "1.2"])(
  "%s asks for Pilot while the configuration is not complete",
  async (generation) => {
    const t = setUp(generation);
    t.answers.config = "listener_manager.lds.update_success: 1\n";
    expect(await t.probe.check()).toBe(
      "config not received from Pilot (is Pilot running?): cds updates: 0 successful, 0 rejected; lds updates: 1 successful, 0 rejected",
    );
  },
);

test("1.8 remembers that Envoy was ready", async () => {
  const t = setUp("1.8");
  expect(await t.probe.check()).toBeUndefined();
  t.answers.server = undefined;
  expect(await t.probe.check()).toBeUndefined();
  expect(t.asked).toEqual(["config 1000", "server 3000"]);
});

test("1.7 asks for Envoy's state every time, with its shorter limit and its plain filters", async () => {
  const t = setUp("1.7");
  expect(await t.probe.check()).toBeUndefined();
  t.answers.config = undefined;
  expect(await t.probe.check()).toBeUndefined();
  t.answers.server = "server.state: 1\nlistener_manager.workers_started: 1\n";
  expect(await t.probe.check()).toBe("server is not live, current state is: DRAINING");
  expect(t.asked).toEqual(["config 1000", "server 1000", "server 1000", "server 1000"]);
  expect(t.filters.join()).not.toContain("\\");
  expect(t.log.texts()).toEqual(["info Readiness succeeded in 352.4ms"]);
});
