import type { ServerHttp2Stream } from "node:http2";
import { describe, expect, test } from "vitest";
import type { GrpcChannel, RawClientCall } from "../../src/grpc/client/client-types.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { buildFrameHeader } from "../../src/grpc/frame-scanner.ts";
import { assembleMessages } from "../../src/grpc/message-assembler.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import { GRPC_ANSWER, startRawServer } from "../support/grpc/raw-server.ts";
import { startRefusingServer } from "../support/grpc/refusing-server.ts";

const REFUSED = 7;
const CANCEL = 8;
const BIDI = rawMethod("/test.Echo/Bidi", "bidi");

/** Sends every message back and ends with OK. */
function echo(stream: ServerHttp2Stream): void {
  stream.respond(GRPC_ANSWER, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.pipe(stream);
}

/** Resets the first streams, as soon as `when` says so of what they have sent, and answers the others. */
function refusing(count: number, reset: { readonly code?: number; readonly afterBytes?: number } = {}) {
  const { code = REFUSED, afterBytes = 0 } = reset;
  let left = count;
  return (stream: ServerHttp2Stream) => {
    left -= 1;
    if (left < 0) return echo(stream);
    if (afterBytes === 0) return stream.close(code);
    let seen = 0;
    stream.on("data", (bytes: Buffer) => {
      seen += bytes.length;
      if (seen >= afterBytes) stream.close(code);
    });
  };
}

/** One of each way to make a streaming call: sends the messages, then says what came back. */
const WAYS: readonly {
  readonly way: string;
  run(channel: GrpcChannel, messages: readonly Buffer[]): Promise<string[]>;
}[] = [
  {
    way: "raw frames",
    async run(channel, messages) {
      const call = await channel.raw(BIDI.path, { timeoutMs: 5000, metadata: { "x-own": "kept" } });
      const answers: string[] = [];
      const reading = call.readFrames(assembleMessages((bytes) => void answers.push(bytes.toString())));
      for (const message of messages) await write(call, message);
      call.end();
      await reading;
      return answers;
    },
  },
  {
    way: "messages",
    async run(channel, messages) {
      const call = await channel.bidi(BIDI, { timeoutMs: 5000, metadata: { "x-own": "kept" } });
      for (const message of messages) await call.write(message);
      call.end();
      const answers: string[] = [];
      for await (const message of call.responses) answers.push(message.toString());
      return answers;
    },
  },
];

async function write(call: RawClientCall, message: Buffer): Promise<void> {
  call.writeFrameStart(message.length);
  await call.writeFrameBytes(message);
}

const messages = ["first", "second", "x".repeat(300_000)].map((text) => Buffer.from(text));
const texts = messages.map(String);

describe.each(WAYS)("a streaming call of $way that the server refuses unseen", ({ run }) => {
  test.each([
    { when: "at once", afterBytes: 0 },
    { when: "after two messages", afterBytes: 20 },
    { when: "while it waits for room", afterBytes: 60_000 },
  ])("$when is made again with all it had sent", async ({ afterBytes }) => {
    await using server = await startRawServer(refusing(1, { afterBytes }));
    await using channel = createGrpcChannel(server.target);
    expect(await run(channel, messages)).toEqual(texts);
    expect(server.requests.map((headers) => headers["x-own"])).toEqual(["kept", "kept"]);
  });

  test("twice fails", async () => {
    await using server = await startRawServer(refusing(2));
    await using channel = createGrpcChannel(server.target);
    await expect(run(channel, messages)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    { what: "graceful", code: 0 },
    { what: "with an error", code: 2 },
  ])("because its connection goes away ($what) is made again on another", async ({ code }) => {
    await using server = await startRefusingServer(code, echo);
    await using channel = createGrpcChannel(server.target);
    expect(await run(channel, messages)).toEqual(texts);
    expect(server.connections).toBe(2);
  });
});

test("a call that the server has reset for another reason is not made again", async () => {
  await using server = await startRawServer(refusing(1, { code: CANCEL }));
  await using channel = createGrpcChannel(server.target);
  const call = await channel.raw(BIDI.path);
  await expect(call.readFrames(assembleMessages(() => undefined))).rejects.toMatchObject({ code: "CANCELLED" });
  expect(server.requests).toHaveLength(1);
});

test("a call whose answer has begun is not made again", async () => {
  await using server = await startRawServer((stream) => {
    stream.respond(GRPC_ANSWER);
    stream.write(Buffer.concat([buildFrameHeader(1), Buffer.from("a")]), () => stream.close(REFUSED));
  });
  await using channel = createGrpcChannel(server.target);
  const call = await channel.raw(BIDI.path);
  const seen: string[] = [];
  const reading = call.readFrames(assembleMessages((bytes) => void seen.push(bytes.toString())));
  await expect(reading).rejects.toMatchObject({ code: expect.stringMatching(/UNAVAILABLE|INTERNAL/) });
  expect([seen, server.requests.length]).toEqual([["a"], 1]);
});

test("a call cancelled before it could be made again is not", async () => {
  await using server = await startRawServer((stream) => {
    cancel();
    stream.close(REFUSED);
  });
  await using channel = createGrpcChannel(server.target);
  const controller = new AbortController();
  const cancel = () => controller.abort();
  const call = await channel.raw(BIDI.path, { signal: controller.signal });
  await expect(call.readFrames(assembleMessages(() => undefined))).rejects.toMatchObject({ code: "CANCELLED" });
  expect(server.requests).toHaveLength(1);
});

test("more than is reasonable to keep is not sent again", async () => {
  await using server = await startRawServer(refusing(1, { afterBytes: 9 * 1024 * 1024 }));
  await using channel = createGrpcChannel(server.target);
  const call = await channel.raw(BIDI.path);
  const reading = call.readFrames(assembleMessages(() => undefined));
  await write(call, Buffer.alloc(10 * 1024 * 1024)).catch(() => undefined);
  await expect(reading).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(server.requests).toHaveLength(1);
});
