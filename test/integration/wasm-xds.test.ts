import type { ServerResponse } from "node:http";
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
import { declareXdsProxyMetrics } from "../../src/xds-proxy/metrics.ts";
import type { ResponseConverter } from "../../src/xds-proxy/options.ts";
import { startXdsProxy } from "../../src/xds-proxy/start-xds-proxy.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { startTestConverter } from "../support/oci/converter.ts";
import {
  decodeExtensions,
  EXTENSION_TYPE,
  extension,
  extensionResponse,
  remoteExtension,
  wasmModule,
} from "../support/wasm/resources.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { startControlPlane } from "../support/xds/control-plane.ts";

const CDS = "type.googleapis.com/envoy.config.cluster.v3.Cluster";

async function startProxy(address: string, socketPath: string, converters: readonly ResponseConverter[]) {
  return startXdsProxy({
    socketPath,
    upstream: {
      address,
      headers: {},
      keepalive: { intervalMs: 20_000, timeoutMs: 10_000 },
      connectTimeoutMs: 5000,
    },
    handlers: [],
    converters,
    maxReceiveBytes: 64 * 1024 * 1024,
    maxStreams: 100,
    downstreamKeepalive: { intervalMs: 30_000, timeoutMs: 10_000 },
    clusterId: "c1",
    metrics: declareXdsProxyMetrics(new MetricRegistry()),
    log: silentLogger,
  });
}

function subscribe(kind: XdsProtocol, names: readonly string[], versionInfo = "", responseNonce = ""): Buffer {
  const node = { id: "sidecar~10.0.0.1~a.ns~ns.svc.cluster.local", userAgentName: "envoy" };
  return kind === "sotw"
    ? discoveryRequest.encode({ node, typeUrl: EXTENSION_TYPE, resourceNames: names, versionInfo, responseNonce })
    : deltaDiscoveryRequest.encode({ node, typeUrl: EXTENSION_TYPE, resourceNamesSubscribe: names, responseNonce });
}

const decodeRequest = (kind: XdsProtocol, bytes: Buffer | undefined) =>
  kind === "sotw"
    ? discoveryRequest.decode(bytes ?? Buffer.alloc(0))
    : deltaDiscoveryRequest.decode(bytes ?? Buffer.alloc(0));
const nonceOf = (kind: XdsProtocol, bytes: Buffer | undefined) =>
  (kind === "sotw" ? discoveryResponse : deltaDiscoveryResponse).decode(bytes ?? Buffer.alloc(0)).nonce;
const clusters = (kind: XdsProtocol) =>
  kind === "sotw"
    ? discoveryResponse.encode({ versionInfo: "1", typeUrl: CDS, nonce: "cds", resources: [] })
    : deltaDiscoveryResponse.encode({ typeUrl: CDS, nonce: "cds" });

/** Modules by path; "/slow" waits until the test lets it answer. */
async function startModules() {
  const held: ServerResponse[] = [];
  let arrived: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const server = await startHttpServer((request, response) => {
    if (request.url !== "/slow") return void response.end(wasmModule(request.url ?? ""));
    held.push(response);
    arrived();
  });
  return {
    url: (path: string) => `http://127.0.0.1:${server.port}${path}`,
    slowAsked: asked,
    slowRequests: () => held.length,
    release: () => {
      for (const response of held.splice(0)) response.end(wasmModule("slow"));
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  test("a slow download holds back later extensions, so that the last one wins, and nothing else", async () => {
    using socket = socketFolder();
    await using modules = await startModules();
    await using wasm = await startTestConverter();
    await using server = await startControlPlane();
    await using _proxy = await startProxy(server.address, socket.path, [wasm.converter]);
    await using client = openRawAds(socket.path, kind);
    client.send(subscribe(kind, ["e"]));
    const stream = await server.stream(0);
    await stream.received(1);
    stream.send(extensionResponse(kind, [remoteExtension({ name: "e", url: modules.url("/slow") })], "old"));
    await modules.slowAsked;
    for (const nonce of ["2", "3", "4", "new"])
      stream.send(extensionResponse(kind, [remoteExtension({ name: "e", url: modules.url(`/fast${nonce}`) })], nonce));
    stream.send(clusters(kind));
    await client.received(1);
    expect(nonceOf(kind, client.responses[0])).toBe("cds");
    modules.release();
    await client.received(6);
    expect(client.responses.slice(1).map((bytes) => nonceOf(kind, bytes))).toEqual(["old", "2", "3", "4", "new"]);
    const [last] = decodeExtensions(kind, client.responses[5] ?? Buffer.alloc(0));
    expect(last).toMatchObject({ config: { config: { vm_config: { code: { local: {} } } } } });
  });

  test("a refused response goes back with its nonce, the version and names the client has, and is not seen", async () => {
    using socket = socketFolder();
    await using modules = await startModules();
    await using wasm = await startTestConverter();
    await using server = await startControlPlane();
    await using _proxy = await startProxy(server.address, socket.path, [wasm.converter]);
    await using client = openRawAds(socket.path, kind);
    client.send(subscribe(kind, ["e", "f"]));
    const stream = await server.stream(0);
    await stream.received(1);
    stream.send(extensionResponse(kind, [remoteExtension({ name: "e", url: modules.url("/fast") })], "n1", "v1"));
    await client.received(1);
    client.send(subscribe(kind, ["e", "f"], "v1", "n1"));
    await stream.received(2);
    stream.send(extensionResponse(kind, [extension("e", undefined)], "n2", "v2"));
    await stream.received(3);
    const refusal = decodeRequest(kind, stream.requests[2]);
    expect(refusal).toMatchObject({
      typeUrl: EXTENSION_TYPE,
      responseNonce: "n2",
      errorDetail: { code: 13, message: 'typed extension config name:"e" does not contain any typed config' },
      ...(kind === "sotw" ? { versionInfo: "v1", resourceNames: ["e", "f"] } : { resourceNamesUnsubscribe: [] }),
    });
    stream.send(extensionResponse(kind, [], "n3"));
    await client.received(2);
    expect(nonceOf(kind, client.responses[1])).toBe("n3");
  });

  test("a response that is not a valid protobuf inside is refused, and the next ones still come", async () => {
    using socket = socketFolder();
    await using wasm = await startTestConverter();
    await using server = await startControlPlane();
    await using _proxy = await startProxy(server.address, socket.path, [wasm.converter]);
    await using client = openRawAds(socket.path, kind);
    client.send(subscribe(kind, ["e"]));
    const stream = await server.stream(0);
    await stream.received(1);
    // The type comes first, so that it is known; field 2 is a resource whose inside is cut short.
    const typed = (kind === "sotw" ? discoveryResponse : deltaDiscoveryResponse).encode({
      typeUrl: EXTENSION_TYPE,
      nonce: "bad",
    });
    stream.send(Buffer.concat([typed, Buffer.from([0x12, 3, 0x12, 0x50, 1])]));
    await stream.received(2);
    expect(decodeRequest(kind, stream.requests[1])).toMatchObject({ responseNonce: "bad", errorDetail: { code: 13 } });
    stream.send(extensionResponse(kind, [], "good"));
    await client.received(1);
    expect(nonceOf(kind, client.responses[0])).toBe("good");
  });

  test("a client that leaves during a download gets the module on its next stream without a second one", async () => {
    using socket = socketFolder();
    await using modules = await startModules();
    await using wasm = await startTestConverter();
    await using server = await startControlPlane();
    await using _proxy = await startProxy(server.address, socket.path, [wasm.converter]);
    const slow = extensionResponse(kind, [remoteExtension({ name: "e", url: modules.url("/slow") })]);
    {
      await using leaving = openRawAds(socket.path, kind);
      leaving.send(subscribe(kind, ["e"]));
      const first = await server.stream(0);
      await first.received(1);
      first.send(slow);
      await modules.slowAsked;
    }
    await using client = openRawAds(socket.path, kind);
    client.send(subscribe(kind, ["e"]));
    const second = await server.stream(1);
    await second.received(1);
    second.send(slow);
    second.send(clusters(kind));
    await client.received(1);
    expect(modules.slowRequests()).toBe(1);
    modules.release();
    await client.received(2);
    const [converted] = decodeExtensions(kind, client.responses[1] ?? Buffer.alloc(0));
    expect(converted).toMatchObject({ config: { config: { vm_config: { code: { local: {} } } } } });
  });
});
