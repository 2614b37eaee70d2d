import { connect } from "node:http2";
import { createConnection } from "node:net";
import { describe, expect, test } from "vitest";
import { buildFrameHeader } from "../../src/grpc/frame-scanner.ts";
import {
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../src/protobuf/wire/discovery.ts";
import { ADS_PATHS, type XdsProtocol } from "../../src/xds/methods.ts";
import { decodeNameTable } from "../../src/xds/name-table.ts";
import { EXTENSION_TYPE, NAME_TABLE_TYPE } from "../../src/xds/type-urls.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { grpcHeaders, requestRaw } from "../support/grpc/raw-client.ts";
import { recordLog } from "../support/log/recording-log.ts";
import { until } from "../support/wait/until.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { startControlPlane } from "../support/xds/control-plane.ts";
import { ask, CDS, LDS, push, read, startTestProxy } from "../support/xds/harness.ts";

const envoy = { agent: "envoy" };
const MIB = 1024 * 1024;
const unchanged = { typeUrl: EXTENSION_TYPE, convert: async ({ message }: { message: Buffer }) => ({ message }) };

/** A response that says it is of one type and holds a resource of another. */
function mixed(kind: XdsProtocol, typeUrl: string, inside: string, nonce: string): Buffer {
  const resource = { typeUrl: inside, value: Buffer.from("x") };
  return kind === "sotw"
    ? discoveryResponse.encode({ typeUrl, nonce, resources: [resource] })
    : deltaDiscoveryResponse.encode({ typeUrl, nonce, resources: [{ name: "r", resource }] });
}

/** What no one handles would end the process. */
async function withoutUnhandled(act: () => Promise<void>): Promise<void> {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    await act();
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
}

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  const codec = kind === "sotw" ? discoveryRequest : deltaDiscoveryRequest;

  test("what a response says of itself decides who gets it, regardless of what it holds", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    const handled: Buffer[] = [];
    await using _running = await startTestProxy(server.address, socket.path, {
      handlers: [{ typeUrl: NAME_TABLE_TYPE, handle: (bytes) => void handled.push(bytes) }],
    });
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, LDS, envoy));
    const stream = await server.stream(0);
    await stream.received(2);
    const clientConfig = "type.googleapis.com/envoy.service.status.v3.ClientConfig";
    stream.send(mixed(kind, "istio.io/debug/syncz", clientConfig, "page"));
    stream.send(mixed(kind, NAME_TABLE_TYPE, clientConfig, "table"));
    const foreign = mixed(kind, CDS, "type.googleapis.com/istio.workload.Address", "clusters");
    stream.send(foreign);
    await client.received(1);
    await stream.received(3);
    expect(client.responses).toEqual([foreign]);
    expect(handled).toEqual([]);
    const refusal = codec.decode(stream.requests[2] ?? Buffer.alloc(0));
    expect(refusal).toMatchObject({ typeUrl: NAME_TABLE_TYPE, responseNonce: "table" });
    expect(refusal.errorDetail?.message).toContain(`mismatched message type: got "${clientConfig}"`);
  });

  test("a name table that is none is refused with what is wrong with it, and reported once", async () => {
    using socket = socketFolder();
    const log = recordLog();
    await using server = await startControlPlane();
    const handle = (bytes: Buffer) => void decodeNameTable(bytes);
    await using _running = await startTestProxy(server.address, socket.path, {
      handlers: [{ typeUrl: NAME_TABLE_TYPE, name: "name table", handle }],
      log,
    });
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, LDS, envoy));
    const stream = await server.stream(0);
    await stream.received(2);
    stream.send(push(kind, NAME_TABLE_TYPE, ["no table"]));
    await stream.received(3);
    const { errorDetail } = codec.decode(stream.requests[2] ?? Buffer.alloc(0));
    expect(errorDetail).toMatchObject({ code: 13, message: expect.stringMatching(/^protobuf: /) });
    expect(log.text()).toContain(`error failed to unmarshal name table: ${errorDetail?.message}`);
  });

  test.each([
    { what: "a compressed request without a word on how", headers: {}, status: "13" },
    { what: "a request compressed as it says", headers: { "grpc-encoding": "gzip" }, status: "12" },
  ])(
    "$what is refused, nothing of it is passed on, and the client is shown what is accepted",
    async ({ headers, status }) => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      await using _running = await startTestProxy(server.address, socket.path);
      const session = connect("http://localhost", { createConnection: () => createConnection(socket.path) });
      const request = ask(kind, CDS, { agent: "envoy" });
      const answer = await requestRaw(
        session,
        grpcHeaders(ADS_PATHS[kind], headers),
        Buffer.concat([buildFrameHeader(request.length, true), request]),
      );
      expect(answer).toMatchObject({ status, headers: { "grpc-accept-encoding": "identity" } });
      expect(server.streams.flatMap(({ requests }) => requests)).toEqual([]);
      session.destroy();
    },
  );

  test("types of other proxies are reported by their short names and not passed on", async () => {
    using socket = socketFolder();
    const log = recordLog();
    await using server = await startControlPlane();
    await using _running = await startTestProxy(server.address, socket.path, { log });
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    const stream = await server.stream(0);
    const foreign = ["istio.workload.Address", "istio.security.Authorization"].map(
      (name) => `type.googleapis.com/${name}`,
    );
    for (const typeUrl of [...foreign, CDS]) stream.send(push(kind, typeUrl, ["a"]));
    await client.received(1);
    expect(read(kind, client.responses[0] ?? Buffer.alloc(0)).typeUrl).toBe(CDS);
    for (const name of ["WDS", "WADS"]) expect(log.text()).toMatch(new RegExp(`upstream response.*\\b${name}\\b`));
    for (const typeUrl of foreign) expect(log.text()).toContain(`Skipping forwarding type url ${typeUrl} to Envoy`);
  });

  test("junk behind a response that its client does not take ends the stream, and nothing else", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using _running = await startTestProxy(server.address, socket.path);
    await withoutUnhandled(async () => {
      await using client = openRawAds(socket.path, kind);
      client.pause();
      client.send(ask(kind, CDS, envoy));
      const stream = await server.stream(0);
      for (let index = 0; index < 20; index += 1) stream.send(push(kind, CDS, ["x".repeat(100_000)]));
      stream.send(Buffer.from("ffffffffffffffffffffff", "hex"));
      await stream.received(1);
      client.resume();
      expect(await client.status).toMatchObject({ code: 13, details: expect.stringContaining("failed to unmarshal") });
    });
    await using next = openRawAds(socket.path, kind);
    next.send(ask(kind, CDS, envoy));
    (await server.stream(1)).send(push(kind, CDS, ["a"]));
    await next.received(1);
  });

  test("a client that does not take converted responses holds the control plane back, and may leave", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using running = await startTestProxy(server.address, socket.path, { converters: [unchanged] });
    await withoutUnhandled(async () => {
      const client = openRawAds(socket.path, kind);
      client.pause();
      client.send(ask(kind, EXTENSION_TYPE, { ...envoy, names: ["w"] }));
      const stream = await server.stream(0);
      for (let index = 0; index < 60; index += 1) stream.send(push(kind, EXTENSION_TYPE, ["x".repeat(MIB)]));
      const taken = () => running.proxy.describeStreams()[0]?.responses ?? 0;
      await until(async () => (taken() > 1 ? undefined : "nothing came"));
      let [before, same] = [taken(), 0];
      // It has come to a rest: nothing more was taken for a while.
      await until(async () => {
        same = taken() === before ? same + 1 : 0;
        before = taken();
        return same >= 10 ? undefined : "still taking";
      });
      expect(taken()).toBeLessThan(20);
      await client[Symbol.asyncDispose]();
      await stream.closed;
      await until(async () => (running.proxy.describeStreams().length === 0 ? undefined : "still there"));
    });
  });

  test.each(["control plane", "client"])(
    "a %s that ends the stream ends its conversions, and none begins after it",
    async (side) => {
      using socket = socketFolder();
      const log = recordLog();
      await using server = await startControlPlane();
      const begun: AbortSignal[] = [];
      const convert = async ({ message }: { message: Buffer }, signal: AbortSignal) => {
        begun.push(signal);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { message };
      };
      await using _running = await startTestProxy(server.address, socket.path, {
        converters: [{ typeUrl: EXTENSION_TYPE, convert }],
        log,
      });
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, EXTENSION_TYPE, { ...envoy, names: ["w"] }));
      const stream = await server.stream(0);
      for (const nonce of ["1", "2"]) stream.send(push(kind, EXTENSION_TYPE, ["w"], { nonce }));
      await until(async () => (begun.length === 1 ? undefined : "not begun"));
      if (side === "client") client.halfClose();
      else stream.end();
      expect(await client.status).toMatchObject({ code: 0 });
      const dropped = () => log.text().split("connection already closed").length - 1;
      await until(async () => (dropped() === 2 ? undefined : log.text()));
      expect(begun.map(({ aborted }) => aborted)).toEqual([true]);
      expect(client.responses).toEqual([]);
    },
  );

  test("a slow client gets all converted responses in their order", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    await using _running = await startTestProxy(server.address, socket.path, { converters: [unchanged] });
    await using client = openRawAds(socket.path, kind);
    client.pause();
    client.send(ask(kind, EXTENSION_TYPE, { ...envoy, names: ["w"] }));
    const stream = await server.stream(0);
    const sent = Array.from({ length: 12 }, (_, index) =>
      push(kind, index % 3 === 0 ? CDS : EXTENSION_TYPE, [String(index).padEnd(MIB, ".")], { nonce: String(index) }),
    );
    for (const message of sent) stream.send(message);
    client.resume();
    await client.received(sent.length);
    const nonces = (type: string) =>
      client.responses
        .map((bytes) => read(kind, bytes))
        .flatMap(({ typeUrl, nonce }) => (typeUrl === type ? [nonce] : []));
    expect(nonces(CDS)).toEqual(["0", "3", "6", "9"]);
    expect(nonces(EXTENSION_TYPE)).toEqual(["1", "2", "4", "5", "7", "8", "10", "11"]);
    expect(client.responses.every((bytes) => sent.some((message) => message.equals(bytes)))).toBe(true);
  });
});

test("a refusal keeps the version that was accepted, also after a request that named none", async () => {
  using socket = socketFolder();
  await using server = await startControlPlane();
  const refusing = { typeUrl: EXTENSION_TYPE, convert: async () => ({ refusal: "no" }) };
  await using _running = await startTestProxy(server.address, socket.path, { converters: [refusing] });
  await using client = openRawAds(socket.path, "sotw");
  client.send(ask("sotw", EXTENSION_TYPE, { ...envoy, names: ["a"], version: "v1", nonce: "n1" }));
  client.send(ask("sotw", EXTENSION_TYPE, { names: ["a", "b"] }));
  const stream = await server.stream(0);
  await stream.received(2);
  stream.send(push("sotw", EXTENSION_TYPE, ["a"], { nonce: "n2", version: "v2" }));
  await stream.received(3);
  expect(discoveryRequest.decode(stream.requests[2] ?? Buffer.alloc(0))).toMatchObject({
    versionInfo: "v1",
    responseNonce: "n2",
    resourceNames: ["a", "b"],
  });
});
