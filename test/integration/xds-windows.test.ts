import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { ask, CDS, startTestProxy } from "../support/xds/harness.ts";

const KB = 1024;

/** A control plane that never answers, and lists for each connection what it may send ahead. */
async function startSilentControlPlane() {
  const windows: (number | undefined)[][] = [];
  const server = createServer();
  server.on("session", (session) => {
    const own: (number | undefined)[] = [];
    windows.push(own);
    session.on("remoteSettings", ({ initialWindowSize }) => void own.push(initialWindowSize));
  });
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    windows,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test("with many streams each of them, old or new, is sent less ahead; when they are few again, as much as before", async () => {
  using socket = socketFolder();
  await using server = await startSilentControlPlane();
  await using _running = await startTestProxy(server.address, socket.path);
  const open = async () => {
    const count = server.windows.length + 1;
    const client = openRawAds(socket.path, "delta");
    client.send(ask("delta", CDS));
    await expect.poll(() => server.windows.filter((each) => each.length > 0)).toHaveLength(count);
    return client;
  };
  await using _first = await open();
  await using _second = await open();
  expect(server.windows).toEqual([[1024 * KB], [1024 * KB]]);
  {
    await using _third = await open();
    await expect.poll(() => server.windows).toEqual([[1024 * KB, 64 * KB], [1024 * KB, 64 * KB], [64 * KB]]);
    await using _fourth = await open();
    await expect.poll(() => server.windows.at(3)).toEqual([64 * KB]);
  }
  const resized = [1024 * KB, 64 * KB, 1024 * KB];
  await expect.poll(() => server.windows.slice(0, 2)).toEqual([resized, resized]);
});

test("streams that come and go faster than the control plane acknowledges do not cost the others their connection", async () => {
  await using server = await startSilentControlPlane();
  await using channel = createGrpcChannel(server.address, { windowBytes: 1024 * KB });
  const call = await channel.raw("/any/Method");
  let ended: unknown;
  call
    .readFrames({ start: () => undefined, bytes: () => undefined, end: () => undefined })
    .catch((failure: unknown) => {
      ended = failure;
    });
  for (let round = 0; round < 40; round += 1) channel.resizeWindow((round % 2 === 0 ? 64 : 512) * KB);
  channel.resizeWindow(128 * KB);
  await expect.poll(() => server.windows[0]?.at(-1)).toBe(128 * KB);
  expect(server.windows).toHaveLength(1);
  expect(server.windows[0]?.length).toBeLessThan(5);
  expect(ended).toBeUndefined();
});
