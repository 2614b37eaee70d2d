import { dirname, join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import type { XdsProtocol } from "../../src/xds/methods.ts";
import { startLastGood } from "../../src/xds-proxy/last-good/start-last-good.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { startFreezableProxy } from "../support/net/freezable-proxy.ts";
import { until } from "../support/wait/until.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { startControlPlane } from "../support/xds/control-plane.ts";
import { ask, CDS, EDS, LDS, NODE_ID, push, read, startTestProxy } from "../support/xds/harness.ts";

const envoy = { agent: "envoy" };
const CONNECT_MS = 800;

/** An agent whose Envoy has accepted one cluster, behind a wire to the control plane that can hang. */
async function startAgent(kind: XdsProtocol, graceMs = 100, connectTimeoutMs = CONNECT_MS) {
  const socket = socketFolder();
  const server = await startControlPlane();
  const wire = await startFreezableProxy(Number(server.address.split(":")[1]));
  const directory = join(dirname(dirname(socket.path)), "last-good");
  const lastGood = await startLastGood({
    directory,
    nodeId: NODE_ID,
    graceMs,
    probeEveryMs: 50,
    writeEveryMs: 1,
    log: silentLogger,
  });
  const running = await startTestProxy(`127.0.0.1:${wire.port}`, socket.path, {
    lastGood,
    upstream: { connectTimeoutMs },
  });
  {
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    const stream = await server.stream(0);
    stream.send(push(kind, CDS, ["a"], { nonce: "c1", version: "7" }));
    await client.received(1);
    client.send(ask(kind, CDS, { nonce: "c1", version: "7" }));
    await stream.received(2);
  }
  return {
    ...running,
    server,
    wire,
    lastGood,
    connect: () => openRawAds(socket.path, kind),
    async [Symbol.asyncDispose]() {
      await running.proxy.stop();
      await lastGood.stop();
      await wire[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      socket[Symbol.dispose]();
    },
  };
}

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  test("an Envoy that starts while the control plane hangs gets what it had, and reconnects when it goes on", async () => {
    // The connect limit is longer than any test: the answer comes in the same stream without it.
    await using agent = await startAgent(kind, 100, 3_600_000);
    agent.wire.hang();
    await using client = agent.connect();
    client.send(ask(kind, CDS, envoy));
    await client.received(1);
    expect(read(kind, client.responses[0] ?? Buffer.alloc(0))).toMatchObject({ typeUrl: CDS, names: ["a"] });
    expect(agent.proxy.notice()).toMatch(/^serving last known good from /);
    expect(agent.registry.render()).toContain("istio_agent_istiod_connection_failures 1");
    agent.wire.wake();
    const probe = await agent.server.stream(1);
    probe.send(push(kind, CDS, ["a"]));
    expect(await client.status).toMatchObject({ code: grpc.status.OK });
    await until(async () => agent.proxy.notice());
  });

  test("an Envoy whose stream is opened and never answered gets everything that it asked for on it", async () => {
    // Long enough for both requests to be there on a busy machine.
    await using agent = await startAgent(kind, 1500);
    await using client = agent.connect();
    client.send(ask(kind, CDS, envoy));
    client.send(ask(kind, LDS));
    const stream = await agent.server.stream(1);
    await stream.received(2);
    await client.received(2);
    client.send(ask(kind, EDS, { names: ["a"] }));
    await client.received(3);
    const answers = client.responses.map((bytes) => read(kind, bytes));
    expect(answers).toMatchObject([
      { typeUrl: CDS, version: "7", names: ["a"] },
      { typeUrl: LDS, names: [] },
      { typeUrl: EDS, names: [], removed: kind === "delta" ? ["a"] : [] },
    ]);
    // The control plane sees the end of the stream, and nothing of what was asked after it.
    await stream.closed;
    expect(stream.requests.length).toBe(2);
    expect(agent.proxy.describeStreams()).toMatchObject([{ source: "last-known-good" }]);
    // That it accepts streams says nothing. When it answers, the client, which has its configuration now, is sent back to it.
    const probe = await agent.server.stream(2);
    await probe.received(1);
    expect(agent.proxy.notice()).toMatch(/^serving last known good from /);
    probe.send(push(kind, CDS, ["a"]));
    expect(await client.status).toMatchObject({ code: grpc.status.OK });
  });

  test.each([
    ["an Envoy that has its configuration", ask(kind, CDS, { ...envoy, version: "7", initial: { a: "7" } })],
    ["a client of another kind", ask(kind, CDS, { agent: "grpc" })],
    ["bytes that are not a request", Buffer.from([0xff])],
  ])("%s goes on waiting for the control plane", async (_, first) => {
    await using agent = await startAgent(kind);
    agent.wire.hang();
    const askedAt = performance.now();
    await using client = agent.connect();
    client.send(first);
    expect(await client.status).toMatchObject({ code: grpc.status.UNAVAILABLE });
    // A machine that stands still only adds to it.
    expect(performance.now() - askedAt).toBeGreaterThan(CONNECT_MS * 0.9);
    expect(agent.registry.render()).not.toContain("istio_agent_xds_last_good_streams");
  });

  test("an answer within the grace period is the one that counts", async () => {
    await using agent = await startAgent(kind, 60_000);
    await using client = agent.connect();
    client.send(ask(kind, CDS, envoy));
    const stream = await agent.server.stream(1);
    await stream.received(1);
    stream.send(push(kind, CDS, ["b"], { nonce: "c2", version: "8" }));
    await client.received(1);
    expect(read(kind, client.responses[0] ?? Buffer.alloc(0))).toMatchObject({ version: "8", names: ["b"] });
    expect(agent.proxy.notice()).toBeUndefined();
  });
});

test("a client that leaves while the control plane hangs takes the attempt to reach it along", async () => {
  await using agent = await startAgent("delta");
  agent.wire.hang();
  {
    await using client = agent.connect();
    client.send(ask("delta", CDS, envoy));
    await client.received(1);
  }
  await until(async () => (agent.proxy.describeStreams().length === 0 ? undefined : "a stream is left"));
  expect(agent.registry.render()).toContain("istio_agent_xds_last_good_streams 0");
});

test("how long a silent control plane is waited for: what is left of the grace period since it said something", async () => {
  using socket = socketFolder();
  const options = { directory: join(dirname(socket.path), "x"), nodeId: NODE_ID, log: silentLogger };
  await using lastGood = await startLastGood({ ...options, graceMs: 3_600_000 });
  expect(lastGood.patienceMs()).toBeGreaterThan(3_000_000);
  await using brief = await startLastGood({ ...options, graceMs: 20 });
  await until(async () =>
    brief.patienceMs() === 20 ? undefined : "never less than the grace period, if that is short",
  );
});
