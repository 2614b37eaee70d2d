import type { ClientHttp2Session } from "node:http2";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LogFields, type Logger, silentLogger } from "../../src/base/logger.ts";
import { buildFrameHeader } from "../../src/grpc/frame-scanner.ts";
import { defineMethod, rawCodec, rawMethod } from "../../src/grpc/method.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { type GrpcServer, startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { GrpcError } from "../../src/grpc/status.ts";
import { connectRaw, grpcHeaders, requestRaw } from "../support/grpc/raw-client.ts";

const ECHO = rawMethod("/edge.Test/Echo", "unary");
const BIDI = rawMethod("/edge.Test/Bidi", "bidi");
const LARGE = rawMethod("/edge.Test/Large", "unary");
const CRASH = rawMethod("/edge.Test/Crash", "unary");
const HANG = rawMethod("/edge.Test/Hang", "bidi");
const FORBIDDEN = rawMethod("/edge.Test/ForbiddenTrailers", "unary");
const PICKY = defineMethod({
  path: "/edge.Test/Picky",
  kind: "unary",
  request: {
    encode: rawCodec.encode,
    decode(bytes) {
      if (bytes.toString() === "bad") throw new Error("invalid wire type 7");
      return bytes;
    },
  },
  response: {
    encode(message: Buffer) {
      if (message.toString() === "unencodable") throw new Error("missing field");
      return message;
    },
    decode: rawCodec.decode,
  },
});

const logged: { message: string; fields: LogFields | undefined }[] = [];
const log: Logger = { ...silentLogger, error: (message, fields) => void logged.push({ message, fields }) };

let server: GrpcServer;
let session: ClientHttp2Session;

beforeAll(async () => {
  server = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    log,
    maxReceiveBytes: 1000,
    maxSendBytes: 500,
    maxHeaderBytes: 8 * 1024,
    methods: [
      implement(ECHO, (request) => request),
      implement(BIDI, async (requests, call) => {
        for await (const request of requests) await call.write(request);
      }),
      implement(LARGE, () => Buffer.alloc(501)),
      implement(CRASH, () => {
        throw new TypeError("password is hunter2");
      }),
      implement(HANG, () => new Promise(() => undefined)),
      implement(FORBIDDEN, (request, call) => {
        call.trailers.append("etag", "one").append("etag", "two");
        if (request.toString() === "fail") throw new GrpcError("ABORTED", "as asked");
        return request;
      }),
      implement(PICKY, (request) => request),
    ],
  });
  session = connectRaw("port" in server.address ? server.address.port : 0);
});

afterAll(async () => {
  session.destroy();
  await server.stop();
});

function frame(payload: Buffer, compressed = false): Buffer {
  return Buffer.concat([buildFrameHeader(payload.length, compressed), payload]);
}

const HELLO = frame(Buffer.from("hello"));

describe("HTTP", () => {
  test.each([
    { name: "another method", headers: { ":method": "GET" }, status: 405 },
    { name: "another content type", headers: { "content-type": "application/json" }, status: 415 },
    { name: "a content type that only starts alike", headers: { "content-type": "application/grpc-web" }, status: 415 },
    { name: "a gRPC subtype", headers: { "content-type": "application/grpc+proto" }, status: 200 },
    {
      name: "a content type with a parameter",
      headers: { "content-type": "application/grpc;charset=utf8" },
      status: 200,
    },
  ])("$name is answered with $status", async ({ headers, status }) => {
    const answer = await requestRaw(session, grpcHeaders(ECHO.path, headers), HELLO);
    expect(answer.httpStatus).toBe(status);
  });

  test("a request without content type is answered with 415", async () => {
    const answer = await requestRaw(session, { ":method": "POST", ":path": ECHO.path }, HELLO);
    expect(answer.httpStatus).toBe(415);
  });

  test("headers over the limit are refused and the connection stays", async () => {
    const answer = await requestRaw(session, grpcHeaders(ECHO.path, { "x-large": "x".repeat(20_000) }), HELLO);
    expect(answer.resetCode || answer.httpStatus).not.toBe(200);
    expect((await requestRaw(session, grpcHeaders(ECHO.path), HELLO)).status).toBe("0");
  });
});

describe("methods", () => {
  test.each([
    { path: "/edge.Other/Echo", message: "unknown service edge.Other" },
    { path: "/edge.Test/None", message: "unknown method None for service edge.Test" },
    { path: "/nonsense", message: 'malformed method name: "/nonsense"' },
  ])("$path is UNIMPLEMENTED in a trailers-only answer", async ({ path, message }) => {
    const answer = await requestRaw(session, grpcHeaders(path), HELLO);
    expect(answer).toMatchObject({ httpStatus: 200, status: "12", message, isTrailersOnly: true });
  });
});

describe("message encoding", () => {
  test.each([
    { name: "gzip", headers: { "grpc-encoding": "gzip" }, body: frame(gzipSync(Buffer.from("hello")), true) },
    { name: "gzip announced, frame left plain", headers: { "grpc-encoding": "gzip" }, body: HELLO },
    { name: "identity", headers: { "grpc-encoding": "identity" }, body: HELLO },
  ])("$name is read", async ({ headers, body }) => {
    const answer = await requestRaw(session, grpcHeaders(ECHO.path, headers), body);
    expect(answer.status).toBe("0");
    expect(answer.messages.map(String)).toEqual(["hello"]);
  });

  test("an unknown encoding is UNIMPLEMENTED and the answer says what is known", async () => {
    const answer = await requestRaw(session, grpcHeaders(ECHO.path, { "grpc-encoding": "snappy" }), HELLO);
    expect(answer).toMatchObject({ status: "12", headers: { "grpc-accept-encoding": "identity,gzip" } });
  });

  test.each([
    { name: "a compressed frame without encoding", body: frame(gzipSync(Buffer.from("x")), true), status: "13" },
    { name: "a frame cut in its payload", body: HELLO.subarray(0, 7), status: "13" },
    { name: "a frame cut in its header", body: HELLO.subarray(0, 3), status: "13" },
    { name: "a frame with an unknown flag", body: Buffer.from([2, 0, 0, 0, 0]), status: "13" },
    { name: "no message", body: Buffer.alloc(0), status: "13" },
    { name: "two messages for a unary call", body: Buffer.concat([HELLO, HELLO]), status: "13" },
    { name: "a message at the limit, which the answer may not have", body: frame(Buffer.alloc(1000)), status: "8" },
    { name: "a message above the limit", body: frame(Buffer.alloc(1001)), status: "8" },
    { name: "a header that promises 4 GB", body: Buffer.from([0, 255, 255, 255, 255]), status: "8" },
  ])("$name ends with status $status", async ({ body, status }) => {
    expect(await requestRaw(session, grpcHeaders(ECHO.path), body)).toMatchObject({ httpStatus: 200, status });
  });

  test("the oversized message is named with its size and the limit", async () => {
    const answer = await requestRaw(session, grpcHeaders(ECHO.path), frame(Buffer.alloc(1001)));
    expect(answer.message).toBe("grpc: received message larger than max (1001 vs. 1000)");
  });

  test("a stream delivers the messages before a broken one", async () => {
    const answer = await requestRaw(session, grpcHeaders(BIDI.path), Buffer.concat([HELLO, HELLO.subarray(0, 6)]));
    expect(answer.messages.map(String)).toEqual(["hello"]);
    expect(answer.status).toBe("13");
  });

  test("gzip that unfolds beyond the limit is RESOURCE_EXHAUSTED", async () => {
    const headers = grpcHeaders(ECHO.path, { "grpc-encoding": "gzip" });
    const answer = await requestRaw(session, headers, frame(gzipSync(Buffer.alloc(100_000)), true));
    expect(answer.status).toBe("8");
  });
});

describe("deadline", () => {
  test("the server ends the call by itself, also for a client that waits", async () => {
    const started = performance.now();
    const answer = await requestRaw(session, grpcHeaders(HANG.path, { "grpc-timeout": "80m" }), HELLO);
    expect(answer).toMatchObject({ status: "4", message: "context deadline exceeded" });
    // Not before the time; a machine that stands still only adds to it.
    expect(performance.now() - started).toBeGreaterThan(70);
  });

  test("a malformed timeout is an error, not for ever", async () => {
    const answer = await requestRaw(session, grpcHeaders(ECHO.path, { "grpc-timeout": "soon" }), HELLO);
    expect(answer).toMatchObject({ status: "13", message: 'malformed grpc-timeout: "soon"' });
  });

  test("a timeout longer than a timer can be is honoured", async () => {
    const answer = await requestRaw(session, grpcHeaders(ECHO.path, { "grpc-timeout": "99999999H" }), HELLO);
    expect(answer.status).toBe("0");
  });
});

describe("handlers", () => {
  test("an unexpected throw is UNKNOWN; the log has the details, the client has not", async () => {
    logged.length = 0;
    const answer = await requestRaw(session, grpcHeaders(CRASH.path), HELLO);
    expect(answer).toMatchObject({ status: "2", message: "the handler of the call failed" });
    expect(logged).toEqual([
      {
        message: "gRPC handler failed",
        fields: expect.objectContaining({ path: CRASH.path, error: "password is hunter2" }),
      },
    ]);
  });

  test("a response above the send limit is RESOURCE_EXHAUSTED", async () => {
    expect(await requestRaw(session, grpcHeaders(LARGE.path), HELLO)).toMatchObject({ status: "8", messages: [] });
  });

  test("a request that does not decode is INTERNAL with the codec's reason", async () => {
    const answer = await requestRaw(session, grpcHeaders(PICKY.path), frame(Buffer.from("bad")));
    const message = "grpc: failed to unmarshal the received message: invalid wire type 7";
    expect(answer).toMatchObject({ status: "13", message });
  });

  test("a response that does not encode is INTERNAL", async () => {
    const answer = await requestRaw(session, grpcHeaders(PICKY.path), frame(Buffer.from("unencodable")));
    expect(answer).toMatchObject({ status: "13", message: "grpc: error while marshaling: missing field" });
  });

  test.each([
    { when: "after a message", body: HELLO },
    { when: "alone", body: frame(Buffer.from("fail")) },
  ])("trailers that HTTP/2 forbids, $when, reset the call and are logged; the connection stays", async ({ body }) => {
    logged.length = 0;
    const answer = await requestRaw(session, grpcHeaders(FORBIDDEN.path), body);
    expect(answer).toMatchObject({ status: undefined, resetCode: 2 });
    expect(logged.map(({ message }) => message)).toEqual(["gRPC status could not be sent"]);
    expect((await requestRaw(session, grpcHeaders(ECHO.path), HELLO)).status).toBe("0");
  });
});

test("random bytes as a request are always answered with a status", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(ECHO.path, BIDI.path), async (bytes, path) => {
      const answer = await requestRaw(session, grpcHeaders(path, { "grpc-encoding": "gzip" }), Buffer.from(bytes));
      expect(["0", "8", "13"]).toContain(answer.status);
    }),
  );
});

test("a thrown status carries its metadata as trailers", async () => {
  const failing = rawMethod("/edge.Test/Fail", "unary");
  await using other = await startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    methods: [
      implement(failing, () => {
        const error = new GrpcError("DATA_LOSS", "gone");
        error.metadata.append("x-part", "three");
        throw error;
      }),
    ],
  });
  const raw = connectRaw("port" in other.address ? other.address.port : 0);
  const answer = await requestRaw(raw, grpcHeaders(failing.path), HELLO);
  raw.destroy();
  expect(answer).toMatchObject({ status: "15", message: "gone", headers: { "x-part": "three" }, isTrailersOnly: true });
});
