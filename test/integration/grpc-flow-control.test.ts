import { describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import type { FrameStream } from "../../src/grpc/frame-scanner.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import { type Implementation, implement, implementRaw } from "../../src/grpc/server/server-types.ts";
import { type GrpcServer, startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { GrpcError } from "../../src/grpc/status.ts";

const FEED = rawMethod("/flow.Test/Feed", "server-stream");
const SINK = rawMethod("/flow.Test/Sink", "client-stream");
const BIDI = rawMethod("/flow.Test/Bidi", "bidi");
const MB = 1024 * 1024;

function start(...methods: Implementation[]): Promise<GrpcServer> {
  return startGrpcServer({
    listen: { host: "127.0.0.1", port: 0 },
    log: silentLogger,
    maxReceiveBytes: 64 * MB,
    methods,
  });
}

function channelTo(server: GrpcServer) {
  const port = "port" in server.address ? server.address.port : 0;
  return createGrpcChannel(`127.0.0.1:${port}`, { maxReceiveBytes: 64 * MB, windowBytes: MB });
}

describe("a slow reader holds the writer back", () => {
  test("on the way to the client", async () => {
    let written = 0;
    await using server = await start(
      implement(FEED, async (_request, call) => {
        for (let count = 0; count < 100; count++) {
          await call.write(Buffer.alloc(MB));
          written++;
        }
      }),
    );
    await using channel = channelTo(server);
    const call = await channel.serverStream(FEED, Buffer.alloc(0));
    await settled(() => written);
    // What is on its way: the stream's window, one message read ahead, and what sockets and stream hold.
    expect(written).toBeLessThan(10);
    let received = 0;
    for await (const message of call) received += message.length;
    expect(received).toBe(100 * MB);
    expect(written).toBe(100);
  });

  test("on the way to the server", async () => {
    const gate: { open?: () => void } = {};
    const opened = new Promise<void>((resolve) => {
      gate.open = resolve;
    });
    await using server = await start(
      implement(SINK, async (requests) => {
        await opened;
        let total = 0;
        for await (const request of requests) total += request.length;
        return Buffer.from(String(total));
      }),
    );
    await using channel = channelTo(server);
    const call = await channel.clientStream(SINK);
    let written = 0;
    const writing = (async () => {
      for (; written < 100; written++) await call.write(Buffer.alloc(MB));
    })();
    await settled(() => written);
    expect(written).toBeLessThan(10);
    gate.open?.();
    await writing;
    expect((await call.finish()).toString()).toBe(String(100 * MB));
  });

  test("one stream that is not read does not stop the others of its connection", async () => {
    await using server = await start(
      implement(FEED, async (_request, call) => {
        for (let count = 0; count < 20; count++) await call.write(Buffer.alloc(MB));
      }),
    );
    await using channel = channelTo(server);
    const stuck = await channel.serverStream(FEED, Buffer.alloc(0));
    let received = 0;
    for await (const message of await channel.serverStream(FEED, Buffer.alloc(0))) received += message.length;
    expect(received).toBe(20 * MB);
    stuck.cancel();
  });

  test("a blocked writer is released when the call ends", async () => {
    const failures: unknown[] = [];
    await using server = await start(
      implement(FEED, async (_request, call) => {
        for (;;) {
          await call.write(Buffer.alloc(MB)).catch((failure: unknown) => {
            failures.push(failure);
            throw failure;
          });
        }
      }),
    );
    await using channel = channelTo(server);
    const call = await channel.serverStream(FEED, Buffer.alloc(0));
    await call.next();
    call.cancel();
    await expect.poll(() => failures).toMatchObject([{ code: "CANCELLED" }]);
  });
});

test("a thousand streams live on one connection at the same time", async () => {
  await using server = await start(
    implement(BIDI, async (requests, call) => {
      for await (const request of requests) await call.write(request);
    }),
  );
  await using channel = channelTo(server);
  const calls = await Promise.all(Array.from({ length: 1000 }, () => channel.bidi(BIDI)));
  await Promise.all(calls.map((call, index) => call.write(Buffer.from(String(index)))));
  const answers = await Promise.all(calls.map((call) => call.responses.next()));
  expect(answers.map(({ value }) => Number(value?.toString()))).toEqual(calls.map((_, index) => index));
  for (const call of calls) call.end();
  const ends = await Promise.all(calls.map((call) => call.responses.next()));
  expect(ends.every(({ done }) => done)).toBe(true);
});

test.each([
  { name: "unary calls", kind: "unary" },
  { name: "streams that the server ends first", kind: "bidi" },
])("thousands of $name in a row need no reset, which servers count as an attack", async ({ kind }) => {
  const unary = rawMethod("/flow.Test/Unary", "unary");
  const brief = rawMethod("/flow.Test/Brief", "bidi");
  await using server = await start(
    implement(unary, (request) => request),
    implement(brief, async (_requests, call) => call.write(Buffer.from("only"))),
  );
  await using channel = channelTo(server);
  const once = async () => {
    if (kind === "unary") return channel.unary(unary, Buffer.from("x"));
    for await (const _message of (await channel.bidi(brief)).responses);
  };
  let left = 3000;
  const work = async () => {
    while (left-- > 0) await once();
  };
  await Promise.all(Array.from({ length: 20 }, work));
});

describe("frames in pieces", () => {
  /** Moves frames from one side of a call to one side of another, piece by piece. */
  const forward = (from: FrameStream, to: FrameStream) =>
    from.readFrames({
      start: (length, compressed) => to.writeFrameStart(length, compressed),
      bytes: (piece) => to.writeFrameBytes(piece),
      end: () => undefined,
    });

  const echo = implement(BIDI, async (requests, call) => {
    for await (const request of requests) {
      if (request.toString("utf8", 0, 4) === "fail") throw new GrpcError("OUT_OF_RANGE", "no more");
      await call.write(request);
    }
  });

  async function startForwarder(upstream: GrpcServer) {
    const channel = channelTo(upstream);
    const server = await start(
      implementRaw(BIDI.path, async (call) => {
        const upstreamCall = await channel.raw(BIDI.path, { signal: call.signal });
        void forward(call, upstreamCall).then(
          () => upstreamCall.end(),
          () => upstreamCall.cancel(),
        );
        await forward(upstreamCall, call);
      }),
    );
    const dispose = async () => {
      await channel.stop();
      await server.stop();
    };
    return { server, [Symbol.asyncDispose]: dispose };
  }

  test("a forwarder passes messages, half-close and status", async () => {
    await using upstream = await start(echo);
    await using forwarder = await startForwarder(upstream);
    await using channel = channelTo(forwarder.server);
    const call = await channel.bidi(BIDI);
    for (const size of [0, 1, 16_384, 65_536, 20 * MB]) {
      const message = Buffer.alloc(size, size % 251);
      const written = call.write(message);
      expect((await call.responses.next()).value?.equals(message)).toBe(true);
      await written;
    }
    call.end();
    expect((await call.responses.next()).done).toBe(true);
    const failing = await channel.bidi(BIDI);
    await failing.write(Buffer.from("fail"));
    await expect(failing.responses.next()).rejects.toMatchObject({ code: "OUT_OF_RANGE", message: "no more" });
  });

  test("a slow reader behind a forwarder holds the writer back through it", async () => {
    let written = 0;
    await using upstream = await start(
      implement(BIDI, async (_requests, call) => {
        for (; written < 100; written++) await call.write(Buffer.alloc(MB));
      }),
    );
    await using forwarder = await startForwarder(upstream);
    await using channel = channelTo(forwarder.server);
    const call = await channel.bidi(BIDI);
    await settled(() => written);
    expect(written).toBeLessThan(20);
    let received = 0;
    for await (const message of call.responses) received += message.length;
    expect(received).toBe(100 * MB);
  });

  test("a reset on either side ends the other", async () => {
    const aborted: unknown[] = [];
    await using upstream = await start(
      implement(BIDI, async (requests, call) => {
        call.signal.addEventListener("abort", () => aborted.push(call.signal.reason));
        for await (const request of requests) await call.write(request);
      }),
    );
    await using forwarder = await startForwarder(upstream);
    await using channel = channelTo(forwarder.server);
    const call = await channel.bidi(BIDI);
    await call.write(Buffer.from("x"));
    await call.responses.next();
    call.cancel();
    await expect.poll(() => aborted).toMatchObject([{ code: "CANCELLED" }]);
  });

  test("a frame above the limit is refused by its header", async () => {
    await using upstream = await start(implement(BIDI, async (_requests, call) => call.write(Buffer.alloc(2 * MB))));
    const port = "port" in upstream.address ? upstream.address.port : 0;
    await using channel = createGrpcChannel(`127.0.0.1:${port}`, { maxReceiveBytes: MB });
    const call = await channel.raw(BIDI.path);
    const pieces: number[] = [];
    const reading = call.readFrames({
      start: () => undefined,
      bytes: (piece) => void pieces.push(piece.length),
      end: () => undefined,
    });
    await expect(reading).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
    expect(pieces).toEqual([]);
  });

  test("what a sink throws fails the call and reaches the reader", async () => {
    await using upstream = await start(echo);
    await using channel = channelTo(upstream);
    const call = await channel.raw(BIDI.path);
    call.writeFrameStart(1);
    call.writeFrameBytes(Buffer.from("x"));
    const nothing = () => undefined;
    const reading = call.readFrames({
      start: () => Promise.reject(new Error("disk full")),
      bytes: nothing,
      end: nothing,
    });
    await expect(reading).rejects.toMatchObject({ code: "INTERNAL", message: "disk full" });
  });
});

test("a window made smaller holds the writer back sooner, one made larger lets it go on; nothing of a running call is lost", async () => {
  const PIECE = 16 * 1024;
  const COUNT = 512;
  let written = 0;
  await using server = await start(
    implement(FEED, async (_request, call) => {
      for (; written < COUNT; written++) await call.write(Buffer.alloc(PIECE));
    }),
  );
  await using channel = channelTo(server);
  const call = await channel.raw(FEED.path);
  const gate: { open: () => void; opened: Promise<void> | undefined } = { open: () => undefined, opened: undefined };
  const close = () => {
    gate.opened = new Promise<void>((resolve) => {
      gate.open = () => {
        gate.opened = undefined;
        resolve();
      };
    });
  };
  let received = 0;
  let holdAt = 0;
  const reading = call.readFrames({
    start: () => undefined,
    bytes(piece) {
      received += piece.length;
      if (received > holdAt && gate.opened === undefined) close();
      return gate.opened;
    },
    end: () => undefined,
  });
  call.writeFrameStart(0);
  call.end();
  const ahead = async () => {
    await settled(() => written);
    return written * PIECE - received;
  };
  expect(await ahead()).toBeGreaterThan(0.9 * MB);

  channel.resizeWindow(64 * 1024);
  holdAt = 3 * MB;
  gate.open();
  // The smaller window and what the server's own stream holds.
  expect(await ahead()).toBeLessThan(256 * 1024);
  expect(received).toBeGreaterThan(3 * MB);

  channel.resizeWindow(MB);
  expect(await ahead()).toBeGreaterThan(0.9 * MB);

  holdAt = Number.POSITIVE_INFINITY;
  gate.open();
  await reading;
  expect(received).toBe(COUNT * PIECE);
});

/** Waits until a counter has not moved for several looks: what it says then is where it is blocked. */
async function settled(read: () => number): Promise<void> {
  let last = -1;
  let quietLooks = 0;
  await expect
    .poll(
      () => {
        quietLooks = read() === last ? quietLooks + 1 : 0;
        last = read();
        return quietLooks;
      },
      { interval: 20 },
    )
    .toBeGreaterThanOrEqual(8);
}
