import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { buildFrameHeader } from "../../src/grpc/frame-scanner.ts";
import { assembleMessages } from "../../src/grpc/message-assembler.ts";
import {
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../src/protobuf/wire/discovery.ts";
import { ADS_PATHS, type XdsProtocol } from "../../src/xds/methods.ts";
import { EXTENSION_TYPE, NAME_TABLE_TYPE } from "../../src/xds/type-urls.ts";
import { startLastGood } from "../../src/xds-proxy/last-good/start-last-good.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { GRPC_ANSWER, startRawServer } from "../support/grpc/raw-server.ts";
import { until } from "../support/wait/until.ts";
import { openRawAds, testNode, URLS } from "../support/xds/ads-client.ts";
import { ask, CDS, LDS, NODE_ID, push, read, startTestProxy } from "../support/xds/harness.ts";

const GZIP_ANSWER = { ...GRPC_ANSWER, "grpc-encoding": "gzip" };
const gzipped = { upstream: { compression: true } };

function frame(payload: Buffer, compressed = true): Buffer {
  return Buffer.concat([buildFrameHeader(payload.length, compressed), payload]);
}

describe.each(["sotw", "delta"] as const)("%s, from our own control plane", (kind) => {
  const opened = new CloseStack();
  let server: DiscoveryServer;
  beforeAll(async () => {
    const mesh = Array.from({ length: 500 }, (_, index) => service(`s${index}`, index)).join("\n---\n");
    server = opened.add(await startDiscoveryServer({ files: { "mesh.yaml": mesh } }));
  });
  afterAll(() => opened.close());

  /** The first answer of clusters as a client gets it, and whether the control plane had compressed it. */
  const clusters = async (target: string) => {
    const before = await sentCompressed(server);
    await using channel = createGrpcChannel(target, { maxReceiveBytes: 2 ** 31 - 1 });
    const call = await channel.raw(ADS_PATHS[kind]);
    const codec = kind === "sotw" ? discoveryRequest : deltaDiscoveryRequest;
    const request = codec.encode({ node: testNode(), typeUrl: URLS.CDS });
    call.writeFrameStart(request.length);
    call.writeFrameBytes(request);
    const answer = await new Promise<{ bytes: Buffer; compressed: boolean }>((resolve, reject) => {
      const sink = assembleMessages((bytes, compressed) => resolve({ bytes, compressed }));
      call.readFrames(sink).then(() => reject(new Error("ended without an answer")), reject);
    });
    const wasCompressed = (await sentCompressed(server)) > before;
    const bytes = withoutNonce(kind, answer.bytes);
    return { length: bytes.length, digest: digest(bytes), isPlain: !answer.compressed, wasCompressed };
  };

  test.each([true, false])("with compression %s a client gets the same plain bytes", async (compression) => {
    using socket = socketFolder();
    const address = `127.0.0.1:${server.ports.grpc}`;
    await using _proxy = await startTestProxy(address, socket.path, { upstream: { compression } });
    const direct = await clusters(address);
    const proxied = await clusters(`unix:${socket.path}`);
    expect(proxied.length).toBeGreaterThan(100_000);
    expect(proxied).toEqual({ ...direct, isPlain: true, wasCompressed: compression });
  });
});

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  test("large, small and plain messages in one packet come in order", async () => {
    const large = Buffer.concat([push(kind, CDS, ["large"]), padding(1_000_000)]);
    const [small, plain] = [push(kind, CDS, ["small"]), push(kind, CDS, ["plain"])];
    await using server = await startRawServer((stream) => {
      stream.respond(GZIP_ANSWER);
      stream.write(
        Buffer.concat([frame(gzipSync(large)), frame(gzipSync(small)), frame(plain, false), frame(gzipSync(large))]),
      );
    });
    using socket = socketFolder();
    await using _proxy = await startTestProxy(server.target, socket.path, gzipped);
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, { agent: "envoy" }));
    await client.received(4);
    expect(client.responses.map(digest)).toEqual([large, small, plain, large].map(digest));
  });

  test("what the agent reads itself, converts and keeps is unpacked for it too", async () => {
    using socket = socketFolder();
    const directory = join(dirname(dirname(socket.path)), "last-good");
    await using lastGood = await startLastGood({
      directory,
      nodeId: NODE_ID,
      graceMs: 0,
      writeEveryMs: 1,
      log: silentLogger,
    });
    const tables: number[] = [];
    const handler = { typeUrl: NAME_TABLE_TYPE, handle: (bytes: Buffer) => void tables.push(bytes.length) };
    const converted = push(kind, EXTENSION_TYPE, ["converted"]);
    const converter = { typeUrl: EXTENSION_TYPE, convert: async () => ({ message: converted }) };
    const options = { ...gzipped, lastGood, handlers: [handler], converters: [converter] };
    const clusters = Buffer.concat([push(kind, CDS, ["a"], { nonce: "n", version: "3" }), padding(200_000)]);
    await using opened = new CloseStack();
    {
      await using server = await startRawServer((stream) => {
        stream.respond(GZIP_ANSWER);
        // What no one has asked for yet is forwarded, and not kept.
        let asked = Buffer.alloc(0);
        stream.on("data", (bytes: Buffer) => {
          const isAnswered = asked.includes(CDS);
          asked = Buffer.concat([asked, bytes]);
          if (isAnswered || !asked.includes(CDS)) return;
          for (const type of [NAME_TABLE_TYPE, EXTENSION_TYPE]) stream.write(frame(gzipSync(push(kind, type, ["x"]))));
          stream.write(frame(gzipSync(clusters)));
        });
      });
      opened.add(await startTestProxy(server.target, socket.path, options));
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, LDS, { agent: "envoy" }));
      client.send(ask(kind, CDS));
      await client.received(2);
      expect(client.responses.map(digest).sort()).toEqual([converted, clusters].map(digest).sort());
      expect(tables).toHaveLength(1);
      client.send(ask(kind, CDS, { nonce: "n", version: "3" }));
      await until(async () => (lastGood.current()?.snapshot.has(CDS) ? undefined : "no clusters kept"));
    }
    await using later = openRawAds(socket.path, kind);
    later.send(ask(kind, CDS, { agent: "envoy" }));
    await later.received(1);
    expect(read(kind, later.responses[0] ?? Buffer.alloc(0))).toMatchObject({ typeUrl: CDS, names: ["a"] });
  });

  test.each([
    { what: "a wrong checksum", spoil: (bytes: Buffer) => bytes.writeUInt32LE(7, bytes.length - 8) },
    { what: "a wrong length", spoil: (bytes: Buffer) => bytes.writeUInt32LE(999_999, bytes.length - 4) },
    { what: "garbage", spoil: (bytes: Buffer) => bytes.fill(0xff, 100, 2000) },
  ])("$what ends the stream of the client, and the next one works", async ({ spoil }) => {
    const good = Buffer.concat([push(kind, CDS, ["good"]), padding(1_000_000)]);
    const bad = gzipSync(good, { level: 0 });
    spoil(bad);
    let streams = 0;
    await using server = await startRawServer((stream) => {
      streams += 1;
      stream.respond(GZIP_ANSWER);
      stream.write(frame(streams === 1 ? bad : gzipSync(good)));
    });
    using socket = socketFolder();
    await using _proxy = await startTestProxy(server.target, socket.path, gzipped);
    await using first = openRawAds(socket.path, kind);
    first.send(ask(kind, CDS, { agent: "envoy" }));
    // A message cut in the middle: grpc-js tells the status that follows it, or that it was cut.
    expect((await first.status).code).toBe(13);
    expect(first.responses).toEqual([]);
    await using second = openRawAds(socket.path, kind);
    second.send(ask(kind, CDS, { agent: "envoy" }));
    await second.received(1);
    expect(second.responses.map(digest)).toEqual([digest(good)]);
  });

  test.each([
    { compression: true, accepts: "identity,gzip" },
    { compression: false, accepts: "identity" },
  ])("with compression $compression the control plane reads: $accepts", async ({ compression, accepts }) => {
    await using server = await startRawServer(answerNothing);
    using socket = socketFolder();
    await using _proxy = await startTestProxy(server.target, socket.path, { upstream: { compression } });
    await using _client = openRawAds(socket.path, kind);
    await expect.poll(() => server.requests[0]?.["grpc-accept-encoding"]).toBe(accepts);
  });
});

test("a control plane that compresses uninvited is at fault", async () => {
  await using server = await startRawServer((stream) => {
    stream.respond(GZIP_ANSWER);
    stream.write(frame(gzipSync(push("sotw", CDS, ["a"]))));
  });
  using socket = socketFolder();
  await using _proxy = await startTestProxy(server.target, socket.path, { upstream: { compression: false } });
  await using client = openRawAds(socket.path, "sotw");
  client.send(ask("sotw", CDS, { agent: "envoy" }));
  expect((await client.status).code).not.toBe(0);
});

/** Comparing megabytes member by member takes seconds. */
function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function answerNothing(stream: ServerHttp2Stream, _headers: IncomingHttpHeaders): void {
  stream.respond(GRPC_ANSWER);
}

/** A field that no one knows, as large as wanted: letters that do not compress to nothing. */
function padding(bytes: number): Buffer {
  const length = [(bytes & 0x7f) | 0x80, ((bytes >> 7) & 0x7f) | 0x80, (bytes >> 14) & 0x7f];
  const letters = Buffer.from(Array.from({ length: bytes }, (_, index) => 97 + ((index * index + (index >> 7)) % 26)));
  return Buffer.concat([Buffer.from([0xfa, 0x07, ...length]), letters]);
}

function withoutNonce(kind: XdsProtocol, bytes: Buffer): Buffer {
  if (kind === "sotw") return discoveryResponse.encode({ ...discoveryResponse.decode(bytes), nonce: "" });
  return deltaDiscoveryResponse.encode({ ...deltaDiscoveryResponse.decode(bytes), nonce: "" });
}

async function sentCompressed(server: DiscoveryServer): Promise<number> {
  const text = await (await server.get("/metrics")).text();
  return Number(/^pilot_xds_sent_bytes_total\{encoding="gzip"\} (\d+)/m.exec(text)?.[1] ?? 0);
}

function service(name: string, index: number): string {
  return JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name, namespace: "default", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      hosts: [`${name}.example`],
      addresses: [`10.96.${index >> 8}.${index & 255}`],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      endpoints: [{ address: `10.1.${index >> 8}.${index & 255}` }],
    },
  });
}
