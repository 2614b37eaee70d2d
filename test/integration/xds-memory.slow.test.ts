import type { ServerHttp2Stream } from "node:http2";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { startChild } from "../../bench/child.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { buildFrameHeader } from "../../src/grpc/frame-scanner.ts";
import { deltaDiscoveryResponse } from "../../src/protobuf/wire/discovery.ts";
import { ADS_PATHS } from "../../src/xds/methods.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { GRPC_ANSWER, startRawServer } from "../support/grpc/raw-server.ts";
import { until } from "../support/wait/until.ts";
import { CDS, push } from "../support/xds/harness.ts";

const MB = 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, 7);

/** Sends `count` responses of `bytes` bytes as fast as they are taken, without holding one. */
async function flood(stream: ServerHttp2Stream, bytes: number, count: number): Promise<void> {
  stream.setMaxListeners(0).respond(GRPC_ANSWER);
  const write = (piece: Buffer) =>
    stream.write(piece) ? undefined : new Promise((resolve) => stream.once("drain", resolve).once("close", resolve));
  const head = push("delta", CDS, ["a"]);
  for (let sent = 0; sent < count && !stream.destroyed; sent += 1) {
    // An unknown field holds what is left.
    const rest = bytes - head.length - 6;
    const tag = Buffer.from([
      0xfa,
      0x07,
      (rest & 0x7f) | 0x80,
      ((rest >> 7) & 0x7f) | 0x80,
      ((rest >> 14) & 0x7f) | 0x80,
      rest >> 21,
    ]);
    await write(Buffer.concat([buildFrameHeader(bytes), head, tag]));
    for (let left = rest; left > 0 && !stream.destroyed; left -= PIECE.length) await write(PIECE.subarray(0, left));
  }
}

/** One response of `bytes` bytes, compressed to less than a tenth. */
function packedPush(bytes: number): Buffer {
  const value = Buffer.from(Array.from({ length: bytes }, (_, index) => 97 + ((index >> 4) % 26) * (index % 3)));
  const resources = [{ version: "1", name: "a", resource: { typeUrl: CDS, value } }];
  const payload = gzipSync(
    deltaDiscoveryResponse.encode({ systemVersionInfo: "v", typeUrl: CDS, nonce: "n", resources }),
  );
  return Buffer.concat([buildFrameHeader(payload.length, true), payload]);
}

/** Reads whole responses; `gate` is waited for before each piece. */
async function receive(socketPath: string, count: number, gate: () => Promise<void> | undefined) {
  await using channel = createGrpcChannel(`unix:${socketPath}`, { maxReceiveBytes: 2 ** 31 - 1 });
  const call = await channel.raw(ADS_PATHS.delta);
  call.writeFrameStart(0);
  const sizes: number[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    const reading = call.readFrames({
      start: (length) => {
        size = length;
      },
      bytes: () => gate(),
      end() {
        sizes.push(size);
        if (sizes.length === count) resolve();
      },
    });
    reading.catch(reject);
  });
  return sizes;
}

test("a response of 200 MB passes without being held", async () => {
  using socket = socketFolder();
  await using server = await startRawServer((stream) => void flood(stream, 200 * MB, 1));
  await using proxy = await startChild("xds-forward/proxy.ts", [socket.path, server.target]);
  await proxy.next();
  const before = proxy.memory().rss;
  expect(await receive(socket.path, 1, () => undefined)).toEqual([200 * MB]);
  expect(proxy.memory().peakRss - before).toBeLessThan(60);
});

test("a slow client and 100 MB of pushes: memory grows by less than three of the 5 MB messages while it waits", async () => {
  using socket = socketFolder();
  let taken = 0;
  await using server = await startRawServer((stream) => {
    const counted = setInterval(() => {
      taken = (stream.session?.state.outboundQueueSize ?? 0) + 1;
    }, 10);
    stream.once("close", () => clearInterval(counted));
    void flood(stream, 5 * MB, 20);
  });
  await using proxy = await startChild("xds-forward/proxy.ts", [socket.path, server.target]);
  await proxy.next();
  const before = proxy.memory().rss;
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reading = receive(socket.path, 20, () => opened);
  // Everything on the way is full when the proxy has stopped growing.
  await until(async () => (taken > 0 ? undefined : "not begun"));
  await untilSteady(() => proxy.memory().rss);
  expect(proxy.memory().peakRss - before).toBeLessThan(15);
  open();
  expect(await reading).toEqual(Array(20).fill(5 * MB));
});

test("a slow client and 100 MB of compressed pushes: only the compressed form waits", async () => {
  using socket = socketFolder();
  const packed = packedPush(5 * MB);
  expect(packed.length).toBeLessThan(MB / 2);
  await using server = await startRawServer((stream) => {
    stream.respond({ ...GRPC_ANSWER, "grpc-encoding": "gzip" });
    for (let sent = 0; sent < 20; sent += 1) stream.write(packed);
  });
  await using proxy = await startChild("xds-forward/proxy.ts", [socket.path, server.target]);
  await proxy.next();
  const before = proxy.memory().rss;
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let begun = false;
  const reading = receive(socket.path, 20, () => {
    begun = true;
    return opened;
  });
  await until(async () => (begun ? undefined : "not begun"));
  await untilSteady(() => proxy.memory().rss);
  expect(proxy.memory().peakRss - before).toBeLessThan(15);
  open();
  const sizes = await reading;
  expect(sizes).toHaveLength(20);
  expect(Math.min(...sizes)).toBeGreaterThan(5 * MB);
  // All of it, unpacked, has passed by now: still no more than a plain stream costs.
  expect(proxy.memory().peakRss - before).toBeLessThan(40);
});

/** Until a figure has stopped moving. */
async function untilSteady(read: () => number): Promise<void> {
  let [last, steady] = [0, 0];
  await until(async () => {
    const now = read();
    steady = Math.abs(now - last) < 0.2 ? steady + 1 : 0;
    last = now;
    return steady > 40 ? undefined : `still moving at ${now}`;
  });
}
