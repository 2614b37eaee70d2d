import { existsSync, statSync } from "node:fs";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import {
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../src/protobuf/wire/discovery.ts";
import type { XdsProtocol } from "../../src/xds/methods.ts";
import { NAME_TABLE_TYPE } from "../../src/xds/type-urls.ts";
import { declareXdsProxyMetrics } from "../../src/xds-proxy/metrics.ts";
import type { InternalHandler } from "../../src/xds-proxy/options.ts";
import { startXdsProxy } from "../../src/xds-proxy/start-xds-proxy.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { startControlPlane } from "../support/xds/control-plane.ts";

const ENVOY = "type.googleapis.com/envoy.";
const CDS = `${ENVOY}config.cluster.v3.Cluster`;
const LDS = `${ENVOY}config.listener.v3.Listener`;
const HEALTH = "type.googleapis.com/istio.v1.HealthInformation";

function request(kind: XdsProtocol, typeUrl: string, userAgentName = "envoy"): Buffer {
  const node = { id: `sidecar~10.0.0.1~${userAgentName}.ns~ns.svc.cluster.local`, userAgentName };
  return kind === "sotw" ? discoveryRequest.encode({ typeUrl, node }) : deltaDiscoveryRequest.encode({ typeUrl, node });
}

function response(kind: XdsProtocol, typeUrl: string, values: readonly Buffer[], nonce = "n1"): Buffer {
  if (kind === "sotw") {
    return discoveryResponse.encode({
      versionInfo: "v1",
      typeUrl,
      nonce,
      resources: values.map((value) => ({ typeUrl, value })),
    });
  }
  const resources = values.map((value, index) => ({ version: "1", name: `r${index}`, resource: { typeUrl, value } }));
  return deltaDiscoveryResponse.encode({ systemVersionInfo: "v1", typeUrl, nonce, resources });
}

async function startProxy(address: string, socketPath: string, handlers: readonly InternalHandler[] = []) {
  const registry = new MetricRegistry();
  const proxy = await startXdsProxy({
    socketPath,
    upstream: {
      address,
      headers: { ClusterID: "c1", FOO_Bar: "baz=1" },
      token: () => "secret-token",
      keepalive: { intervalMs: 20_000, timeoutMs: 10_000 },
      connectTimeoutMs: 5000,
    },
    handlers,
    maxReceiveBytes: 64 * 1024 * 1024,
    maxStreams: 100_000,
    downstreamKeepalive: { intervalMs: 30_000, timeoutMs: 10_000 },
    clusterId: "c1",
    metrics: declareXdsProxyMetrics(registry),
    log: silentLogger,
  });
  return { proxy, registry, [Symbol.asyncDispose]: () => proxy.stop() };
}

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  test("requests and responses pass unchanged, unknown fields included", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using _proxy = await startProxy(server.address, socket.path);
    await using client = openRawAds(socket.path, kind);
    const unknownField = Buffer.from([0xba, 0x3e, 3, 1, 2, 3]);
    const asked = Buffer.concat([request(kind, CDS), unknownField]);
    client.send(asked);
    const stream = await server.stream(0);
    await stream.received(1);
    expect(stream.requests[0]?.equals(asked)).toBe(true);
    const answer = Buffer.concat([response(kind, CDS, [Buffer.alloc(5_000_000, 1), Buffer.from("x")]), unknownField]);
    stream.send(answer);
    await client.received(1);
    expect(client.responses[0]?.equals(answer)).toBe(true);
  });

  test("token, cluster and extra headers go with the stream", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using _proxy = await startProxy(server.address, socket.path);
    await using client = openRawAds(socket.path, kind);
    client.send(request(kind, CDS));
    const { metadata } = await server.stream(0);
    expect(metadata.get("authorization")).toEqual(["Bearer secret-token"]);
    expect(metadata.get("clusterid")).toEqual(["c1"]);
    expect(metadata.get("foo_bar")).toEqual(["baz=1"]);
  });

  test("the first listener request is followed by the agent's subscriptions and the stored health, once", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using running = await startProxy(server.address, socket.path, [
      { typeUrl: NAME_TABLE_TYPE, handle: () => undefined },
    ]);
    running.proxy.reportHealth({ healthy: false, message: "probe failed" });
    await using client = openRawAds(socket.path, kind);
    client.send(request(kind, CDS));
    client.send(request(kind, LDS));
    client.send(request(kind, LDS));
    const stream = await server.stream(0);
    await stream.received(5);
    expect(stream.types()).toEqual([CDS, LDS, NAME_TABLE_TYPE, HEALTH, LDS]);
    running.proxy.reportHealth({ healthy: true });
    await stream.received(6);
    const last = stream.requests.at(-1) ?? Buffer.alloc(0);
    const decoded = kind === "sotw" ? discoveryRequest.decode(last) : deltaDiscoveryRequest.decode(last);
    expect(decoded).toMatchObject({ typeUrl: HEALTH, errorDetail: undefined });
  });

  test("an internal type goes to its handler, is acknowledged and never reaches the client", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    const handled: string[] = [];
    const handler = { typeUrl: NAME_TABLE_TYPE, handle: (bytes: Buffer) => void handled.push(bytes.toString()) };
    await using _running = await startProxy(server.address, socket.path, [handler]);
    await using client = openRawAds(socket.path, kind);
    client.send(request(kind, LDS));
    const stream = await server.stream(0);
    await stream.received(2);
    stream.send(response(kind, NAME_TABLE_TYPE, [Buffer.from("table")], "n7"));
    stream.send(response(kind, NAME_TABLE_TYPE, [], "n8"));
    stream.send(response(kind, CDS, [Buffer.from("cluster")]));
    await client.received(1);
    await stream.received(4);
    expect(handled).toEqual(["table"]);
    expect(client.responses).toHaveLength(1);
    const acks = stream.requests
      .slice(2)
      .map((bytes) => (kind === "sotw" ? discoveryRequest : deltaDiscoveryRequest).decode(bytes));
    expect(acks).toMatchObject([
      { typeUrl: NAME_TABLE_TYPE, responseNonce: "n7", errorDetail: undefined },
      { typeUrl: NAME_TABLE_TYPE, responseNonce: "n8", errorDetail: undefined },
    ]);
  });

  test("what a handler refuses is sent back as a NACK and the stream lives on", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    const handler = {
      typeUrl: NAME_TABLE_TYPE,
      handle: () => {
        throw new Error("no such table");
      },
    };
    await using _running = await startProxy(server.address, socket.path, [handler]);
    await using client = openRawAds(socket.path, kind);
    client.send(request(kind, LDS));
    const stream = await server.stream(0);
    stream.send(response(kind, NAME_TABLE_TYPE, [Buffer.from("x")], "n1"));
    await stream.received(3);
    const codec = kind === "sotw" ? discoveryRequest : deltaDiscoveryRequest;
    expect(codec.decode(stream.requests[2] ?? Buffer.alloc(0))).toMatchObject({
      responseNonce: "n1",
      errorDetail: { code: 13, message: "no such table" },
    });
    client.send(request(kind, CDS));
    await stream.received(4);
  });

  test("types that are not for Envoy are dropped without an answer", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using _running = await startProxy(server.address, socket.path);
    await using client = openRawAds(socket.path, kind);
    client.send(request(kind, CDS));
    const stream = await server.stream(0);
    for (const type of ["istio.io/debug/syncz", NAME_TABLE_TYPE, "type.googleapis.com/istio.workload.Address", ""]) {
      stream.send(response(kind, type, [Buffer.from("x")]));
    }
    for (const type of [`${ENVOY}made.up.Type`, "type.googleapis.com/istio.workload.Workload"])
      stream.send(response(kind, type, [Buffer.from("x")]));
    await client.received(2);
    expect(client.responses).toHaveLength(2);
    expect(stream.requests).toHaveLength(1);
  });

  test("the control plane's status reaches the client", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using running = await startProxy(server.address, socket.path);
    await using client = openRawAds(socket.path, kind);
    client.send(request(kind, CDS));
    (await server.stream(0)).fail(grpc.status.UNAUTHENTICATED, "authentication failure");
    expect(await client.status).toMatchObject({ code: grpc.status.UNAUTHENTICATED, details: "authentication failure" });
    expect(running.registry.render()).toContain('istio_agent_istiod_connection_terminations{type="error"} 1');
    expect(running.registry.render()).toContain('istio_agent_envoy_connection_terminations{type="cancelled"} 1');
  });

  test("a clean end upstream is a clean end downstream", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using _running = await startProxy(server.address, socket.path);
    await using client = openRawAds(socket.path, kind);
    client.send(request(kind, CDS));
    (await server.stream(0)).end();
    expect(await client.status).toMatchObject({ code: grpc.status.OK });
  });

  test("a client that leaves takes its upstream stream with it, not those of others", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using running = await startProxy(server.address, socket.path);
    await using first = openRawAds(socket.path, kind);
    await using second = openRawAds(socket.path, kind);
    first.send(request(kind, CDS));
    const left = await server.stream(0);
    second.send(request(kind, CDS));
    const stays = await server.stream(1);
    first.cancel();
    await left.closed;
    stays.send(response(kind, CDS, [Buffer.from("still here")]));
    await second.received(1);
    expect(running.proxy.describeStreams()).toHaveLength(1);
  });

  test("the newest Envoy carries the agent's subscriptions; when it ends another client takes over", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using _running = await startProxy(server.address, socket.path, [
      { typeUrl: NAME_TABLE_TYPE, handle: () => undefined },
    ]);
    await using other = openRawAds(socket.path, kind);
    other.send(request(kind, CDS, "gRPC Node Pure JS"));
    const otherStream = await server.stream(0);
    await using envoy = openRawAds(socket.path, kind);
    envoy.send(request(kind, LDS));
    const envoyStream = await server.stream(1);
    await envoyStream.received(2);
    other.send(request(kind, LDS, "gRPC Node Pure JS"));
    await otherStream.received(2);
    expect(otherStream.types()).toEqual([CDS, LDS]);
    envoy.cancel();
    await otherStream.received(3);
    expect(otherStream.types().at(-1)).toBe(NAME_TABLE_TYPE);
  });
});

test("a stop resets the clients and leaves no upstream", async () => {
  using socket = socketFolder();
  await using server = await startControlPlane();
  const { proxy } = await startProxy(server.address, socket.path);
  const clients = (["sotw", "delta"] as const).map((kind) => openRawAds(socket.path, kind));
  clients[0]?.send(request("sotw", CDS));
  clients[1]?.send(request("delta", CDS));
  const streams = await Promise.all([server.stream(0), server.stream(1)]);
  await Promise.all(streams.map((stream) => stream.received(1)));
  await Promise.all([proxy.stop(), proxy.stop()]);
  for (const client of clients) expect((await client.status).code).not.toBe(grpc.status.OK);
  await Promise.all(streams.map(({ closed }) => closed));
  expect(existsSync(socket.path)).toBe(false);
  for (const client of clients) await client[Symbol.asyncDispose]();
});

test("no control plane: the client is notified, and the next stream works once there is one", async () => {
  using socket = socketFolder();
  const gone = await startControlPlane();
  const { address } = gone;
  gone.forceStop();
  await using running = await startProxy(address, socket.path);
  await using client = openRawAds(socket.path, "delta");
  client.send(request("delta", CDS));
  expect(await client.status).toMatchObject({ code: grpc.status.UNAVAILABLE });
  expect(running.registry.render()).toContain("istio_agent_istiod_connection_failures 1");
  await using server = await startControlPlane({ port: Number(address.split(":")[1]) });
  await using again = openRawAds(socket.path, "delta");
  again.send(request("delta", CDS));
  await (await server.stream(0)).received(1);
});

test("a slow client holds the control plane back instead of filling memory, and gets everything in the end", async () => {
  using socket = socketFolder();
  await using server = await startControlPlane();
  await using _running = await startProxy(server.address, socket.path);
  await using client = openRawAds(socket.path, "sotw");
  client.send(request("sotw", CDS));
  const stream = await server.stream(0);
  await stream.received(1);
  client.pause();
  const message = response("sotw", CDS, [Buffer.alloc(5_000_000, 3)]);
  for (let count = 0; count < 20; count += 1) stream.send(message);
  // Requests still pass while the other direction is blocked: this is what a deadlock would prevent.
  for (let count = 0; count < 50; count += 1) client.send(request("sotw", CDS));
  await stream.received(51);
  client.resume();
  await client.received(20);
  expect(client.responses.every((bytes) => bytes.equals(message))).toBe(true);
});

test("the socket is made with its directory, open to all, and gone after the stop", async () => {
  using socket = socketFolder();
  await using server = await startControlPlane();
  const { proxy } = await startProxy(server.address, socket.path);
  expect(statSync(socket.path).mode & 0o777).toBe(0o666);
  await proxy.stop();
  await proxy.stop();
  expect(existsSync(socket.path)).toBe(false);
});
