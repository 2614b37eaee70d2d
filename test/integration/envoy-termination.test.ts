import { connect, type Socket } from "node:net";
import { beforeEach, expect, test } from "vitest";
import type { TerminationOptions } from "../../src/envoy/drain.ts";
import type { EnvoyHandle } from "../../src/envoy/envoy-options.ts";
import { startEnvoy } from "../../src/envoy/start-envoy.ts";
import { createWorkFolder, envoyOptions, freePorts, recordingLogger } from "../support/envoy/life.ts";
import { staticBootstrap } from "../support/envoy/static-bootstrap.ts";
import { envoyPath, needs } from "../support/needs.ts";
import { fetchOk } from "../support/net/fetch-answer.ts";
import { lifeOf } from "../support/process/process-life.ts";
import { signalProcess } from "../support/process/signal-process.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

async function start(termination: Partial<TerminationOptions>) {
  const [adminPort = 0, port = 0] = await freePorts(2);
  const work = createWorkFolder();
  const log = recordingLogger();
  const phases: string[] = [];
  const envoy = await startEnvoy(
    envoyOptions({
      binaryPath: envoyPath() ?? "",
      log,
      adminPort,
      stdio: work.stdio,
      prepareConfig: async () => ({ path: work.write("envoy-rev.json", staticBootstrap({ adminPort, port })) }),
      termination: { drainMs: 5_000, inboundOnly: true, ownPorts: [], ...termination },
      onPhase: (phase) => void phases.push(phase),
    }),
  );
  await until("Envoy", () =>
    fetchOk(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  );
  return {
    envoy,
    port,
    log,
    phases,
    [Symbol.asyncDispose]: async () => {
      await envoy.stop();
      work[Symbol.dispose]();
    },
  };
}

/** An idle keep-alive connection, as a client's pool has it. */
async function holdConnection(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("data", resolve);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  });
  socket.on("error", () => undefined);
  return socket;
}

/** Resolves to how long it took. Only lower bounds are asserted on: a machine that stands still adds to it. */
async function timed(envoy: EnvoyHandle): Promise<number> {
  const isAlive = lifeOf(envoy.pid);
  const before = performance.now();
  await envoy.terminate();
  expect(isAlive()).toBe(false);
  return performance.now() - before;
}

test("it drains, waits the whole period, then ends Envoy; the phases follow", async () => {
  await using t = await start({ drainMs: 700 });
  const took = await timed(t.envoy);
  expect(took).toBeGreaterThanOrEqual(699);
  expect(t.phases).toEqual(["running", "draining", "terminating", "ended"]);
  const first = t.log.texts().indexOf("info Agent draining Proxy for termination");
  expect(t.log.texts().slice(first)).toEqual([
    "info Agent draining Proxy for termination",
    "debug Drain listener endpoint response : OK",
    "info Graceful termination period is 700ms, starting...",
    "info Graceful termination period complete, terminating remaining proxies.",
    "warn Aborting proxy",
    "info Envoy aborted normally",
    "warn Aborted proxy instance",
    "info Agent has successfully terminated",
  ]);
});

test("while it drains Envoy still answers and asks its clients to close", async () => {
  await using t = await start({ drainMs: 1_000 });
  const done = t.envoy.terminate();
  await until("draining", () => t.log.texts().some((line) => line.startsWith("info Graceful termination period is")));
  expect(await fetchOk(`http://127.0.0.1:${t.port}/`)).toBe("ok");
  await done;
});

test("a second request cuts the drain short", async () => {
  await using t = await start({ drainMs: 60_000 });
  const done = timed(t.envoy);
  await until("draining", () => t.envoy.phase === "draining");
  void t.envoy.terminate();
  await done; // long before the drain time
});

test.each([
  { what: "drained before", prepare: (envoy: EnvoyHandle) => envoy.drain() },
  { what: "drain disabled", prepare: async (envoy: EnvoyHandle) => envoy.disableDrain() },
])("with $what it ends at once", async ({ prepare }) => {
  await using t = await start({ drainMs: 60_000 });
  await prepare(t.envoy);
  expect(await fetchOk(`http://127.0.0.1:${t.port}/`)).toBe("ok");
  await timed(t.envoy);
  expect(t.log.texts()).toContain("info Agent already drained, exiting immediately");
  expect(t.log.texts().filter((line) => line.startsWith("info Graceful termination period is"))).toEqual([]);
});

test("Envoy's own exit ends the wait", async () => {
  await using t = await start({ drainMs: 60_000 });
  const done = timed(t.envoy);
  await until("draining", () => t.log.texts().some((line) => line.startsWith("info Graceful termination period is")));
  signalProcess(t.envoy.pid, "SIGTERM");
  await done; // long before the drain time
  expect(t.log.texts()).toContain("info Envoy exited with status <nil>");
  expect(t.log.texts()).toContain("info Graceful termination logic ended prematurely, envoy process terminated early");
});

test("exit on zero waits for the last connection", async () => {
  await using t = await start({ exitOnZero: { minimumMs: 100, maximumMs: 60_000 } });
  const client = await holdConnection(t.port);
  const done = timed(t.envoy);
  await until("a count", () => t.log.texts().includes("info There are still 1 active connections"));
  client.destroy();
  await done; // long before the maximum
  expect(t.log.texts()).toContain("info There are no more active connections. terminating proxy...");
});

test("exit on zero has a deadline of its own", async () => {
  await using t = await start({ exitOnZero: { minimumMs: 100, maximumMs: 1_500 } });
  const client = await holdConnection(t.port);
  const took = await timed(t.envoy);
  expect(took).toBeGreaterThanOrEqual(1_499);
  expect(t.log.texts()).toContain("warn Active connections did not end within 1.5s, terminating proxy...");
  client.destroy();
});

test("connections to Envoy's own listeners do not hold up exit on zero", async () => {
  const [adminPort = 0, port = 0] = await freePorts(2);
  using work = createWorkFolder();
  const log = recordingLogger();
  await using envoy = await startEnvoy(
    envoyOptions({
      binaryPath: envoyPath() ?? "",
      log,
      adminPort,
      stdio: work.stdio,
      prepareConfig: async () => ({ path: work.write("rev.json", staticBootstrap({ adminPort, port, host: "::1" })) }),
      termination: {
        drainMs: 0,
        inboundOnly: true,
        ownPorts: [port],
        exitOnZero: { minimumMs: 10, maximumMs: 60_000 },
      },
    }),
  );
  await until("Envoy", () =>
    fetchOk(`http://[::1]:${port}/`).then(
      () => true,
      () => false,
    ),
  );
  const prober = connect(port, "::1");
  await new Promise((resolve) => prober.once("connect", resolve));
  prober.on("error", () => undefined);
  await envoy.terminate();
  prober.destroy();
  expect(log.texts()).toContain("info There are no more active connections. terminating proxy...");
});
