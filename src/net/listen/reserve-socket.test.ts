import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { createGrpcChannel } from "../../grpc/client/create-grpc-channel.ts";
import { defineMethod, rawCodec } from "../../grpc/method.ts";
import { implement } from "../../grpc/server/server-types.ts";
import { startGrpcServer } from "../../grpc/server/start-grpc-server.ts";
import { reserveSocket } from "./reserve-socket.ts";

const folder = mkdtempSync(join(tmpdir(), "reserve-"));
afterAll(() => rmSync(folder, { recursive: true }));
const ECHO = defineMethod({ path: "/test.Echo/Echo", kind: "unary", request: rawCodec, response: rawCodec });
const echo = implement(ECHO, async (request) => request);

test("a client that comes before the server waits and is answered, and so is the next one", async () => {
  const path = join(folder, "early");
  const reserved = await reserveSocket({ path });
  await using early = createGrpcChannel(`unix:${path}`);
  const answer = early.unary(ECHO, Buffer.from("early"));
  await connected(path);
  await using server = await startGrpcServer({ listen: { path, reserved }, methods: [echo], log: silentLogger });
  expect(String(await answer)).toBe("early");
  await using late = createGrpcChannel(`unix:${path}`);
  expect(String(await late.unary(ECHO, Buffer.from("late")))).toBe("late");
  await server.stop();
  expect(existsSync(path)).toBe(false);
});

test("it is taken once; the next server binds the path itself", async () => {
  const path = join(folder, "once");
  const reserved = await reserveSocket({ path });
  const listener = reserved.take((socket) => socket.destroy());
  expect(reserved.take(() => undefined)).toBeUndefined();
  await listener?.close();
  await using _server = await startGrpcServer({ listen: { path, reserved }, methods: [echo], log: silentLogger });
  await using channel = createGrpcChannel(`unix:${path}`);
  expect(String(await channel.unary(ECHO, Buffer.from("x")))).toBe("x");
});

test("given up, it frees the path and sends away who waited; taken, it is the taker's", async () => {
  const path = join(folder, "given-up");
  {
    await using _reserved = await reserveSocket({ path });
    const waiting = connect(path);
    const closed = new Promise((done) => waiting.once("close", done));
    await connected(path);
    await _reserved[Symbol.asyncDispose]();
    await closed;
    expect(_reserved.take(() => undefined)).toBeUndefined();
  }
  expect(existsSync(path)).toBe(false);
  const reserved = await reserveSocket({ path });
  const listener = reserved.take((socket) => socket.destroy());
  await reserved[Symbol.asyncDispose]();
  expect(existsSync(path)).toBe(true);
  await listener?.close();
});

/** After this, connections made before have been accepted too: they queue. */
async function connected(path: string): Promise<void> {
  const socket = connect(path);
  await new Promise((done) => socket.once("connect", done));
  socket.destroy();
  await new Promise((turn) => setImmediate(turn));
}
