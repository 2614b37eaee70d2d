import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { buildFrameHeader } from "../../src/grpc/frame-scanner.ts";
import { Metadata } from "../../src/grpc/metadata.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import type { GrpcError } from "../../src/grpc/status.ts";
import { answerWith, GRPC_ANSWER, startRawServer } from "../support/grpc/raw-server.ts";
import { startFreezableProxy } from "../support/net/freezable-proxy.ts";

const UNARY = rawMethod("/odd.Test/Unary", "unary");
const STREAM = rawMethod("/odd.Test/Stream", "server-stream");
const BIDI = rawMethod("/odd.Test/Bidi", "bidi");
const OK = { "grpc-status": "0" };

function frame(text: string, compressed = false): Buffer {
  const payload = compressed ? gzipSync(text) : Buffer.from(text);
  return Buffer.concat([buildFrameHeader(payload.length, compressed), payload]);
}

async function failureOf(
  answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
  maxReceiveBytes = 1000,
): Promise<GrpcError> {
  await using server = await startRawServer(answer);
  await using channel = createGrpcChannel(server.target, { maxReceiveBytes });
  return await channel.unary(UNARY, Buffer.from("x")).then(
    (response) => expect.unreachable(`answered with ${response.toString()}`),
    (failure: GrpcError) => failure,
  );
}

describe("answers that are not gRPC", () => {
  test.each([
    { http: 400, text: "Bad Request", code: "INTERNAL" },
    { http: 401, text: "Unauthorized", code: "UNAUTHENTICATED" },
    { http: 403, text: "Forbidden", code: "PERMISSION_DENIED" },
    { http: 404, text: "Not Found", code: "UNIMPLEMENTED" },
    { http: 429, text: "Too Many Requests", code: "UNAVAILABLE" },
    { http: 500, text: "Internal Server Error", code: "UNKNOWN" },
    { http: 503, text: "Service Unavailable", code: "UNAVAILABLE" },
  ])("HTTP status $http is $code", async ({ http, text, code }) => {
    const failure = await failureOf((stream) => {
      stream.respond({ ":status": http, "content-type": "text/html" });
      stream.end("<h1>sorry</h1>");
    });
    expect(failure).toMatchObject({
      code,
      message: `unexpected HTTP status code received from server: ${http} (${text})`,
    });
  });

  test.each([
    { status: "0", code: "INTERNAL", message: expect.stringContaining("unexpected EOF") },
    { status: "14", code: "UNAVAILABLE", message: "bye" },
  ])("half a message before status $status is $code, whenever the end of the stream is noticed", async (row) => {
    await using server = await startRawServer((stream) => {
      const trailers = { "grpc-status": row.status, "grpc-message": "bye" };
      stream.respond(GRPC_ANSWER, { waitForTrailers: true });
      stream.once("wantTrailers", () => stream.sendTrailers(trailers));
      stream.write(frame("a whole message").subarray(0, 12));
      // The server has finished with the stream before its client has: both sides are closed together with the trailers.
      stream.once("end", () => stream.end()).resume();
    });
    await using channel = createGrpcChannel(server.target);
    for (let count = 0; count < 20; count += 1) {
      const call = await channel.raw(BIDI.path);
      const pieces: Buffer[] = [];
      const reading = call.readFrames({
        start: () => undefined,
        bytes: (piece) => void pieces.push(piece),
        end: () => undefined,
      });
      call.end();
      await expect(reading).rejects.toMatchObject({ code: row.code, message: row.message });
      expect(Buffer.concat(pieces).length).toBeLessThan(15);
    }
  });

  test("another content type is UNKNOWN and named", async () => {
    const failure = await failureOf((stream) => {
      stream.respond({ ":status": 200, "content-type": "text/html" });
      stream.end("<h1>hello</h1>");
    });
    expect(failure).toMatchObject({ code: "UNKNOWN", message: expect.stringContaining('"text/html"') });
  });

  test("a status in the headers counts more than the HTTP status", async () => {
    const failure = await failureOf((stream) =>
      stream.respond({ ":status": 503, "grpc-status": "5", "grpc-message": "not%20here" }, { endStream: true }),
    );
    expect(failure).toMatchObject({ code: "NOT_FOUND", message: "not here" });
  });
});

describe("a call that the server refuses unseen", () => {
  const REFUSED = 7;
  /** Refuses the first calls and answers the others. */
  const refusing = (count: number, refuse = (stream: ServerHttp2Stream) => stream.close(REFUSED)) => {
    let left = count;
    return (stream: ServerHttp2Stream) => {
      left -= 1;
      if (left < 0) return answerWith(stream, frame("at last"), OK);
      refuse(stream);
    };
  };
  const ask = async (target: string) => {
    await using channel = createGrpcChannel(target);
    return await channel.unary(UNARY, Buffer.from("x"), { metadata: { "x-own": "kept" }, timeoutMs: 5000 });
  };

  test("is made again, once, with the same metadata and what is left of its time", async () => {
    await using server = await startRawServer(refusing(1));
    expect((await ask(server.target)).toString()).toBe("at last");
    expect(server.requests.map((headers) => headers["x-own"])).toEqual(["kept", "kept"]);
  });

  test("fails when it is refused again", async () => {
    await using server = await startRawServer(refusing(2));
    await expect(ask(server.target)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "stream terminated by RST_STREAM with error code: REFUSED_STREAM",
    });
    expect(server.requests).toHaveLength(2);
  });

  test("is not made again when the server had begun to answer", async () => {
    const begun = (stream: ServerHttp2Stream) => {
      stream.respond(GRPC_ANSWER);
      // The client answers a ping after it has read what came before.
      stream.session?.ping(() => stream.close(REFUSED));
    };
    await using server = await startRawServer(refusing(1, begun));
    await expect(ask(server.target)).rejects.toMatchObject({ code: expect.stringMatching(/UNAVAILABLE|INTERNAL/) });
    expect(server.requests).toHaveLength(1);
  });
});

describe("endings", () => {
  test.each([
    {
      name: "no trailers",
      answer: (stream: ServerHttp2Stream) => {
        stream.respond(GRPC_ANSWER);
        stream.end(frame("x"));
      },
      code: "INTERNAL",
    },
    {
      name: "trailers without a status",
      answer: (stream: ServerHttp2Stream) => answerWith(stream, frame("x"), { x: "y" }),
      code: "UNKNOWN",
    },
    {
      name: "a status that is not a number",
      answer: (stream: ServerHttp2Stream) => answerWith(stream, frame("x"), { "grpc-status": "?" }),
      code: "UNKNOWN",
    },
    {
      name: "OK without a message",
      answer: (stream: ServerHttp2Stream) => answerWith(stream, Buffer.alloc(0), OK),
      code: "INTERNAL",
    },
    {
      name: "two messages for a unary call",
      answer: (stream: ServerHttp2Stream) => answerWith(stream, Buffer.concat([frame("a"), frame("b")]), OK),
      code: "INTERNAL",
    },
    {
      name: "a frame cut short",
      answer: (stream: ServerHttp2Stream) => answerWith(stream, frame("hello").subarray(0, 7), OK),
      code: "INTERNAL",
    },
    {
      name: "an oversized frame",
      answer: (stream: ServerHttp2Stream) => answerWith(stream, frame("x".repeat(1001)), OK),
      code: "RESOURCE_EXHAUSTED",
    },
    {
      name: "a compressed frame without encoding",
      answer: (stream: ServerHttp2Stream) => answerWith(stream, frame("x", true), OK),
      code: "INTERNAL",
    },
    {
      name: "an unknown encoding",
      answer: (stream: ServerHttp2Stream) => answerWith(stream, frame("x"), OK, { "grpc-encoding": "zstd" }),
      code: "INTERNAL",
    },
    {
      name: "an unknown flag",
      answer: (stream: ServerHttp2Stream) => answerWith(stream, Buffer.from([9, 0, 0, 0, 0]), OK),
      code: "INTERNAL",
    },
  ])("$name is $code", async ({ answer, code }) => {
    expect(await failureOf(answer)).toMatchObject({ name: "GrpcError", code });
  });

  test.each([
    { reset: 0, code: "INTERNAL", name: "NO_ERROR" },
    { reset: 1, code: "INTERNAL", name: "PROTOCOL_ERROR" },
    { reset: 2, code: "INTERNAL", name: "INTERNAL_ERROR" },
    { reset: 7, code: "UNAVAILABLE", name: "REFUSED_STREAM" },
    { reset: 8, code: "CANCELLED", name: "CANCEL" },
    { reset: 11, code: "RESOURCE_EXHAUSTED", name: "ENHANCE_YOUR_CALM" },
    { reset: 12, code: "PERMISSION_DENIED", name: "INADEQUATE_SECURITY" },
  ])("a reset with $name is $code", async ({ reset, code, name }) => {
    await using server = await startRawServer((stream) => stream.close(reset));
    await using channel = createGrpcChannel(server.target);
    const call = await channel.bidi(BIDI);
    await expect(call.responses.next()).rejects.toMatchObject({
      code,
      message: `stream terminated by RST_STREAM with error code: ${name}`,
    });
  });

  test("a status wins over a reset that follows it", async () => {
    const failure = await failureOf((stream) => {
      stream.respond({ ...GRPC_ANSWER, "grpc-status": "7", "grpc-message": "no" }, { endStream: true });
      setImmediate(() => stream.close(8));
    });
    expect(failure).toMatchObject({ code: "PERMISSION_DENIED", message: "no" });
  });

  test("the connection is lost in the middle of a call", async () => {
    await using server = await startRawServer((stream) => stream.respond(GRPC_ANSWER));
    await using proxy = await startFreezableProxy(server.port);
    await using channel = createGrpcChannel(`127.0.0.1:${proxy.port}`);
    const answered = channel.unary(UNARY, Buffer.alloc(0), { onHeaders: () => proxy.cut() });
    await expect(answered).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("error reading from server"),
    });
  });

  test("messages that were lost with the connection are not hidden behind status OK", async () => {
    const count = 40;
    await using server = await startRawServer((stream) => {
      answerWith(stream, Buffer.concat(Array.from({ length: count }, () => frame("x".repeat(900)))), OK);
      stream.once("finish", () => setImmediate(() => stream.session?.destroy()));
    });
    await using channel = createGrpcChannel(server.target, { maxReceiveBytes: 1000 });
    const call = await channel.serverStream(STREAM, Buffer.alloc(0));
    await expect.poll(() => server.sessions.size).toBe(0);
    let received = 0;
    const read = (async () => {
      for await (const _message of call) received++;
    })();
    // Either everything had arrived, or the loss is reported; never an OK with a part.
    await read.then(
      () => expect(received).toBe(count),
      (failure: GrpcError) => expect(failure.code).toBe("UNAVAILABLE"),
    );
  });
});

describe("good answers", () => {
  test("gzip is announced and read", async () => {
    await using server = await startRawServer((stream) =>
      answerWith(stream, frame("packed", true), OK, { "grpc-encoding": "gzip" }),
    );
    await using channel = createGrpcChannel(server.target);
    expect((await channel.unary(UNARY, Buffer.alloc(0))).toString()).toBe("packed");
    expect(server.requests[0]).toMatchObject({ "grpc-accept-encoding": "identity,gzip" });
  });

  test("the request says what the protocol wants and no more", async () => {
    await using server = await startRawServer((stream) => answerWith(stream, frame("x"), OK));
    await using channel = createGrpcChannel(server.target, {
      authority: "istiod.istio-system.svc",
      userAgent: "agent/1",
    });
    await channel.unary(UNARY, Buffer.alloc(0), { metadata: { ClusterID: "c1" } });
    expect(Object.fromEntries(Object.entries(server.requests[0] ?? {}))).toEqual({
      ":method": "POST",
      ":scheme": "http",
      ":authority": "istiod.istio-system.svc",
      ":path": UNARY.path,
      te: "trailers",
      "content-type": "application/grpc",
      "user-agent": "agent/1",
      "grpc-accept-encoding": "identity,gzip",
      clusterid: "c1",
    });
  });

  test("a deadline is sent along", async () => {
    await using server = await startRawServer((stream) => answerWith(stream, frame("x"), OK));
    await using channel = createGrpcChannel(server.target);
    await channel.unary(UNARY, Buffer.alloc(0), { timeoutMs: 5_000 });
    expect(server.requests[0]?.["grpc-timeout"]).toMatch(/^(5000|4[0-9]{3})m$/);
  });

  test("repeated text values stay apart", async () => {
    const answer = { "x-many": ["a, b", "c"] };
    await using server = await startRawServer((stream) => answerWith(stream, frame("x"), OK, answer));
    await using channel = createGrpcChannel(server.target);
    let headers = new Metadata();
    await channel.unary(UNARY, Buffer.alloc(0), {
      onHeaders: (received) => {
        headers = received;
      },
    });
    expect(headers.getAll("x-many")).toEqual(["a, b", "c"]);
  });
});

test("frames in pieces are not offered compressed, and a server that compresses all the same is refused", async () => {
  await using server = await startRawServer((stream) =>
    answerWith(stream, frame("packed", true), OK, { "grpc-encoding": "gzip" }),
  );
  await using channel = createGrpcChannel(server.target);
  const call = await channel.raw(BIDI.path);
  const nothing = () => undefined;
  await expect(call.readFrames({ start: nothing, bytes: nothing, end: nothing })).rejects.toMatchObject({
    code: "INTERNAL",
  });
  expect(server.requests[0]).toMatchObject({ "grpc-accept-encoding": "identity" });
});

test.each(["onHeaders", "onTrailers"] as const)("what %s throws fails the call, not the process", async (listener) => {
  await using server = await startRawServer((stream) => answerWith(stream, frame("x"), OK));
  await using channel = createGrpcChannel(server.target);
  const options = {
    [listener]: () => {
      throw new Error("caller's bug");
    },
  };
  await expect(channel.unary(UNARY, Buffer.alloc(0), options)).rejects.toMatchObject({ message: "caller's bug" });
});

test("random bytes as an answer give a GrpcError, never another throw or a hang", async () => {
  let body = Buffer.alloc(0);
  await using server = await startRawServer((stream) => answerWith(stream, body, OK));
  await using channel = createGrpcChannel(server.target, { maxReceiveBytes: 100 });
  let seed = 7;
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed >> 16;
  };
  for (let round = 0; round < 100; round++) {
    body = Buffer.from(Array.from({ length: round }, random));
    const outcome = await channel
      .unary(UNARY, Buffer.alloc(0), { timeoutMs: 5_000 })
      .catch((failure: GrpcError) => failure.code);
    expect(["INTERNAL", "RESOURCE_EXHAUSTED"]).toContain(outcome);
  }
});
