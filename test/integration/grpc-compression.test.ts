import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { gzipPieces } from "../../src/grpc/compression-pieces.ts";
import { buildFrameHeader } from "../../src/grpc/frame-scanner.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { type GrpcServer, startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { connectRaw, grpcHeaders, requestRaw } from "../support/grpc/raw-client.ts";

const TEXT = Buffer.from("the same words again and again ".repeat(2000));
const OFFERS = rawMethod("/pack.Test/Offers", "server-stream");
const LATE = rawMethod("/pack.Test/Late", "server-stream");
const UNASKED = rawMethod("/pack.Test/Unasked", "server-stream");

let server: GrpcServer;
let port: number;

beforeAll(async () => {
  server = await startGrpcServer({
    log: silentLogger,
    listen: { host: "127.0.0.1", port: 0 },
    methods: [
      implement(OFFERS, async (_request, call) => {
        const packed = call.offerGzip() ? gzipPieces([TEXT, Buffer.from("tail")]) : undefined;
        void call.writeChunks([Buffer.from("plain")]);
        void call.writeChunks(packed ?? [TEXT, Buffer.from("tail")], packed !== undefined);
      }),
      implement(LATE, async (_request, call) => {
        void call.writeChunks([Buffer.from("plain")]);
        void call.writeChunks([Buffer.from(String(call.offerGzip()))]);
      }),
      implement(UNASKED, async (_request, call) => {
        void call.writeChunks(gzipPieces([TEXT]) ?? [], true);
      }),
    ],
  });
  port = Number("port" in server.address ? server.address.port : 0);
});
afterAll(() => server.stop());

async function ask(method: { readonly path: string }, accepts?: string) {
  const session = connectRaw(port);
  const headers = grpcHeaders(method.path, accepts === undefined ? {} : { "grpc-accept-encoding": accepts });
  const answer = await requestRaw(session, headers, buildFrameHeader(0));
  session.destroy();
  return answer;
}

test("a client that takes gzip is answered so in the headers and may get both kinds of messages", async () => {
  const answer = await ask(OFFERS, "identity,deflate,gzip");
  expect(answer.headers["grpc-encoding"]).toBe("gzip");
  expect(answer.compressed).toEqual([false, true]);
  expect(answer.messages[0]?.toString()).toBe("plain");
  expect(gunzipSync(answer.messages[1] ?? "").toString()).toBe(`${TEXT}tail`);
  expect(answer.messages[1]?.length).toBeLessThan(TEXT.length / 50);
});

test.each([undefined, "identity", "identity,deflate"])("a client that takes %s sees no difference", async (accepts) => {
  const answer = await ask(OFFERS, accepts);
  expect(answer.headers).not.toHaveProperty("grpc-encoding");
  expect(answer.compressed).toEqual([false, false]);
  expect(answer.messages[1]?.toString()).toBe(`${TEXT}tail`);
});

test("once the headers are gone it is too late to offer anything", async () => {
  const answer = await ask(LATE, "gzip");
  expect(answer.headers).not.toHaveProperty("grpc-encoding");
  expect(answer.messages.map(String)).toEqual(["plain", "false"]);
});

test("a compressed message that was not offered is the server's fault and is not sent", async () => {
  const answer = await ask(UNASKED, "gzip");
  expect(answer).toMatchObject({ messages: [], status: "13" });
});

test("our own client unpacks it, within its limit for messages", async () => {
  const read = async (maxReceiveBytes: number) => {
    await using channel = createGrpcChannel(`127.0.0.1:${port}`, { maxReceiveBytes });
    const messages: string[] = [];
    for await (const message of await channel.serverStream(OFFERS, Buffer.alloc(0))) messages.push(String(message));
    return messages;
  };
  expect(await read(TEXT.length + 4)).toEqual(["plain", `${TEXT}tail`]);
  await expect(read(TEXT.length + 3)).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
});
