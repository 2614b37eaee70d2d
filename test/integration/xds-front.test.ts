import { dirname, join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import type { XdsProtocol } from "../../src/xds/methods.ts";
import { startLastGood } from "../../src/xds-proxy/last-good/start-last-good.ts";
import { http2Cluster } from "../support/envoy/http2-cluster.ts";
import { pipeListener } from "../support/envoy/pipe-listener.ts";
import { runEnvoy } from "../support/envoy/run-envoy.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { needs } from "../support/needs.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { type FrontAnswer, page, startHttp2Front, statusOnly } from "../support/net/http2-front.ts";
import { until } from "../support/wait/until.ts";
import { openRawAds, type RawAdsStream } from "../support/xds/ads-client.ts";
import { type ServedStream, startControlPlane } from "../support/xds/control-plane.ts";
import { ask, CDS, NODE_ID, push, read, startTestProxy } from "../support/xds/harness.ts";

const envoy = { agent: "envoy" };
/** Longer than a busy machine takes until the first attempt, which is to come before it has passed. */
const GRACE_MS = 500;

/** An agent whose control plane is at the address. */
async function startAgent(address: string, connectTimeoutMs = 5000) {
  const socket = socketFolder();
  const directory = join(dirname(dirname(socket.path)), "last-good");
  const options = { directory, nodeId: NODE_ID, graceMs: GRACE_MS, probeEveryMs: 50, writeEveryMs: 1 };
  const lastGood = await startLastGood({ ...options, log: silentLogger });
  const running = await startTestProxy(address, socket.path, { lastGood, upstream: { connectTimeoutMs } });
  return {
    ...running,
    lastGood,
    connect: (kind: XdsProtocol) => openRawAds(socket.path, kind),
    async [Symbol.asyncDispose]() {
      await running.proxy.stop();
      await lastGood.stop();
      socket[Symbol.dispose]();
    },
  };
}

type Agent = Awaited<ReturnType<typeof startAgent>>;

/** An Envoy that has accepted one cluster, and is gone. */
async function acceptOne(agent: Agent, kind: XdsProtocol, opened: Promise<ServedStream>): Promise<void> {
  await using client = agent.connect(kind);
  client.send(ask(kind, CDS, envoy));
  const failed = client.status.then(({ details }) => Promise.reject(new Error(details)));
  const stream = await Promise.race([opened, failed]);
  failed.catch(() => undefined);
  await stream.received(1);
  stream.send(push(kind, CDS, ["a"], { nonce: "c1", version: "7" }));
  await client.received(1);
  client.send(ask(kind, CDS, { nonce: "c1", version: "7" }));
  await stream.received(2);
}

/** Envoy tries again until it is answered; gives the statuses it got until then. */
async function restart(agent: Agent, kind: XdsProtocol): Promise<{ client: RawAdsStream; statuses: grpc.status[] }> {
  const statuses: grpc.status[] = [];
  let answered: RawAdsStream | undefined;
  await until("Envoy is answered", async () => {
    const client = agent.connect(kind);
    client.send(ask(kind, CDS, envoy));
    const ended = client.status.then(({ code }) => code);
    const code = await Promise.race([ended, client.received(1).then(() => undefined)]);
    if (code === undefined) answered = client;
    else statuses.push(code);
    return code === undefined || `ended with ${code}`;
  });
  if (answered === undefined) throw new Error("never answered");
  return { client: answered, statuses };
}

const outages: { what: string; answer: FrontAnswer; status: grpc.status }[] = [
  { what: "503", answer: page(503), status: grpc.status.UNAVAILABLE },
  { what: "401", answer: page(401), status: grpc.status.UNAUTHENTICATED },
  { what: "403", answer: page(403), status: grpc.status.PERMISSION_DENIED },
  { what: "404", answer: page(404), status: grpc.status.UNIMPLEMENTED },
  { what: "a page", answer: page(200), status: grpc.status.UNKNOWN },
  { what: "UNAVAILABLE", answer: statusOnly(grpc.status.UNAVAILABLE), status: grpc.status.UNAVAILABLE },
  {
    what: "that it is not ready",
    answer: statusOnly(grpc.status.UNKNOWN, "server is not ready to serve discovery information"),
    status: grpc.status.UNKNOWN,
  },
  { what: "a clean end", answer: statusOnly(grpc.status.OK), status: grpc.status.OK },
  { what: "a reset", answer: (stream) => stream.close(2), status: grpc.status.INTERNAL },
];

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  test.each(outages)("a front that answers $what is not a control plane: Envoy gets what it had", async (outage) => {
    await using server = await startControlPlane();
    await using front = await startHttp2Front(Number(server.address.split(":")[1]));
    await using agent = await startAgent(front.address);
    const startedAt = performance.now();
    await acceptOne(agent, kind, server.stream(0));
    front.answerWith(outage.answer);

    const { client, statuses } = await restart(agent, kind);
    await using _client = client;
    // The grace period has passed since the control plane spoke; a machine that stands still only adds to it.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(GRACE_MS - 1);
    expect(new Set(statuses)).toEqual(new Set([outage.status]));
    expect(read(kind, client.responses[0] ?? Buffer.alloc(0))).toMatchObject({ version: "7", names: ["a"] });

    // It is asked again and again, and what it says changes nothing.
    const asked = front.requests;
    await until(async () => (front.requests > asked + 2 ? undefined : "it is not asked"));
    expect(agent.proxy.notice()).toMatch(/^serving last known good from /);
    expect(agent.proxy.describeStreams()).toMatchObject([{ source: "last-known-good" }]);

    front.answerWith(undefined);
    const probe = await server.stream(1);
    await probe.received(1);
    expect(probe.requests[0]?.equals(ask(kind, CDS, envoy))).toBe(true);
    expect(agent.proxy.notice()).toBeDefined();
    probe.send(push(kind, CDS, ["a"]));
    expect(await client.status).toMatchObject({ code: grpc.status.OK });
    await probe.closed;
  });

  test.each([grpc.status.UNAUTHENTICATED, grpc.status.PERMISSION_DENIED, grpc.status.INVALID_ARGUMENT])(
    "who is refused with status %s is not served from here, neither before nor after",
    async (status) => {
      await using server = await startControlPlane();
      await using front = await startHttp2Front(Number(server.address.split(":")[1]));
      await using agent = await startAgent(front.address);
      await acceptOne(agent, kind, server.stream(0));
      front.answerWith(page(503));
      const { client } = await restart(agent, kind);
      await using _served = client;
      front.answerWith(statusOnly(status, "not you"));
      expect(await client.status).toMatchObject({ code: grpc.status.OK });
      expect(agent.lastGood.dueInMs()).toBeGreaterThan(0);

      await using again = agent.connect(kind);
      again.send(ask(kind, CDS, envoy));
      expect(await again.status).toMatchObject({ code: status, details: "not you" });
      expect(agent.lastGood.dueInMs()).toBeGreaterThan(0);
    },
  );

  test("a client that has configuration, or is none of ours, gets the front's status all the time", async () => {
    await using server = await startControlPlane();
    await using front = await startHttp2Front(Number(server.address.split(":")[1]));
    await using agent = await startAgent(front.address);
    await acceptOne(agent, kind, server.stream(0));
    front.answerWith(page(404));
    const { client } = await restart(agent, kind);
    await using _served = client;
    const withVersions = { ...envoy, version: "7", initial: { a: "7" } };
    for (const first of [ask(kind, CDS, withVersions), ask(kind, CDS, { agent: "grpc" })]) {
      await using other = agent.connect(kind);
      other.send(first);
      expect(await other.status).toMatchObject({ code: grpc.status.UNIMPLEMENTED });
    }
  });

  test("half a response is nothing to go by, and what the client has of it is not mixed with anything", async () => {
    await using server = await startControlPlane();
    await using front = await startHttp2Front(Number(server.address.split(":")[1]));
    await using agent = await startAgent(front.address);
    await acceptOne(agent, kind, server.stream(0));
    const message = push(kind, CDS, ["b".repeat(1000)]);
    front.answerWith((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      const start = Buffer.alloc(5);
      start.writeUInt32BE(message.length, 1);
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "14" }));
      stream.end(Buffer.concat([start, message.subarray(0, message.length - 10)]));
    });
    await until(async () => {
      await using client = agent.connect(kind);
      client.send(ask(kind, CDS, envoy));
      expect(await client.status).toMatchObject({ code: grpc.status.UNAVAILABLE });
      expect(client.responses).toEqual([]);
      return agent.lastGood.dueInMs() <= 0 ? undefined : "the grace period";
    });
    front.answerWith(page(503));
    const { client, statuses } = await restart(agent, kind);
    await using _served = client;
    expect(statuses).toEqual([]);
  });
});

describe("a stock Envoy in front of the control plane", () => {
  beforeEach(needs("envoy"));

  test("says UNAVAILABLE while there is none, and Envoy behind the agent has its configuration meanwhile", async () => {
    const [frontPort = 0, controlPort = 0] = await freePorts(2);
    const address = { socket_address: { address: "127.0.0.1", port_value: controlPort } };
    const listener = {
      ...pipeListener("", "istiod"),
      address: { socket_address: { address: "127.0.0.1", port_value: frontPort } },
    };
    const bootstrap = { static_resources: { listeners: [listener], clusters: [http2Cluster("istiod", address)] } };
    await using _front = await runEnvoy(bootstrap);
    await using agent = await startAgent(`127.0.0.1:${frontPort}`);
    {
      await using server = await startControlPlane({ port: controlPort });
      const opened = server.stream(0);
      await until(() =>
        acceptOne(agent, "delta", opened).then(
          () => undefined,
          (failure: Error) => failure.message,
        ),
      );
    }
    const { client, statuses } = await restart(agent, "delta");
    await using _served = client;
    expect(new Set(statuses)).toEqual(new Set([grpc.status.UNAVAILABLE]));
    expect(read("delta", client.responses[0] ?? Buffer.alloc(0))).toMatchObject({ names: ["a"] });
    await using back = await startControlPlane({ port: controlPort });
    (await back.stream(0)).send(push("delta", CDS, ["a"]));
    expect(await client.status).toMatchObject({ code: grpc.status.OK });
  });
});
