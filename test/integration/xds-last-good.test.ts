import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { type Logger, silentLogger } from "../../src/base/logger.ts";
import type { XdsProtocol } from "../../src/xds/methods.ts";
import { NAME_TABLE_TYPE } from "../../src/xds/type-urls.ts";
import { startLastGood } from "../../src/xds-proxy/last-good/start-last-good.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { startFreezableProxy } from "../support/net/freezable-proxy.ts";
import { until } from "../support/wait/until.ts";
import { openRawAds, type RawAdsStream } from "../support/xds/ads-client.ts";
import { type ControlPlane, startControlPlane } from "../support/xds/control-plane.ts";
import { ask, CDS, EDS, LDS, NODE_ID, push, read, SECRET, startTestProxy } from "../support/xds/harness.ts";

const envoy = { agent: "envoy" };

interface Variation {
  readonly log?: Logger;
  readonly graceMs?: number;
  readonly token?: () => Promise<string>;
}

async function startWithLastGood(address: string, socketPath: string, variation: Variation = {}) {
  const { log = silentLogger, graceMs = 50, token } = variation;
  const directory = join(dirname(dirname(socketPath)), "last-good");
  const lastGood = await startLastGood({
    directory,
    nodeId: NODE_ID,
    graceMs,
    probeEveryMs: 50,
    writeEveryMs: 1,
    log,
  });
  const handled: string[] = [];
  const handler = { typeUrl: NAME_TABLE_TYPE, handle: (bytes: Buffer) => void handled.push(bytes.toString()) };
  const running = await startTestProxy(address, socketPath, {
    lastGood,
    handlers: [handler],
    ...(token && { upstream: { token } }),
  });
  return {
    ...running,
    lastGood,
    directory,
    handled,
    async [Symbol.asyncDispose]() {
      await running.proxy.stop();
      await lastGood.stop();
    },
  };
}

/** Gives the client two clusters, the endpoints of one and a name table, all accepted. */
async function accept(server: ControlPlane, client: RawAdsStream, kind: XdsProtocol, index = 0) {
  client.send(ask(kind, CDS, envoy));
  const stream = await server.stream(index);
  stream.send(push(kind, CDS, ["a", "b"], { nonce: "c1", version: "7" }));
  await client.received(1);
  client.send(ask(kind, CDS, { nonce: "c1", version: "7" }));
  client.send(ask(kind, EDS, { names: ["a"] }));
  client.send(ask(kind, SECRET, { names: ["s"] }));
  client.send(ask(kind, LDS));
  await stream.received(6);
  stream.send(push(kind, EDS, ["a"], { nonce: "e1", version: "8" }));
  stream.send(push(kind, SECRET, ["s"], { nonce: "s1" }));
  stream.send(push(kind, NAME_TABLE_TYPE, ["table"], { nonce: "t1" }));
  await client.received(3);
  client.send(ask(kind, EDS, { nonce: "e1", names: kind === "sotw" ? ["a"] : [], version: "8" }));
  client.send(ask(kind, SECRET, { nonce: "s1", names: kind === "sotw" ? ["s"] : [], version: "1" }));
  await stream.received(9);
}

/** An Envoy has accepted its configuration; then agent and control plane are gone, whose address stays free. */
async function acceptedAndGone(socketPath: string, kind: XdsProtocol): Promise<string> {
  await using server = await startControlPlane();
  await using _first = await startWithLastGood(server.address, socketPath);
  await using client = openRawAds(socketPath, kind);
  await accept(server, client, kind);
  return server.address;
}

async function failing(socketPath: string, kind: XdsProtocol): Promise<void> {
  await using client = openRawAds(socketPath, kind);
  client.send(ask(kind, CDS, { agent: "grpc" }));
  expect(await client.status).toMatchObject({ code: grpc.status.UNAVAILABLE });
}

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  test("an Envoy that starts without a control plane gets what it had accepted, and reconnects when there is one", async () => {
    using socket = socketFolder();
    const address = await acceptedAndGone(socket.path, kind);

    await using running = await startWithLastGood(address, socket.path);
    const [file = ""] = readdirSync(running.directory);
    expect(statSync(join(running.directory, file)).mode & 0o777).toBe(0o600);
    expect(statSync(running.directory).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(running.directory, file)).includes("tls.v3.Secret")).toBe(false);

    // Its one stream is held for the grace period: coming back is Envoy's own backoff, which may take half a minute.
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    client.send(ask(kind, SECRET, { names: ["s"] }));
    client.send(ask(kind, EDS, { names: ["a", "gone"] }));
    await client.received(2);
    const [clusters, endpoints] = client.responses.map((bytes) => read(kind, bytes));
    expect(clusters).toMatchObject({ typeUrl: CDS, version: "7", names: ["a", "b"], removed: [] });
    expect(endpoints).toMatchObject({
      typeUrl: EDS,
      version: "8",
      names: ["a"],
      removed: kind === "delta" ? ["gone"] : [],
    });
    expect(running.handled).toEqual([expect.stringContaining("table")]);
    expect(running.proxy.notice()).toMatch(/^serving last known good from \d{4}-\d\d-\d\dT/);
    expect(running.proxy.describeStreams()).toMatchObject([{ source: "last-known-good" }]);
    expect(running.registry.render()).toContain("istio_agent_xds_last_good_streams 1");

    // Acknowledging brings no second answer; asking for more does.
    client.send(ask(kind, CDS, { nonce: clusters?.nonce ?? "", version: "7" }));
    client.send(ask(kind, LDS));
    await client.received(3);
    expect(read(kind, client.responses[2] ?? Buffer.alloc(0))).toMatchObject({ typeUrl: LDS, names: [] });

    await using back = await startControlPlane({ port: Number(address.split(":")[1]) });
    const probe = await back.stream(0);
    await probe.received(1);
    expect(probe.requests[0]?.equals(ask(kind, CDS, envoy))).toBe(true);
    probe.send(push(kind, CDS, ["a", "b"]));
    expect(await client.status).toMatchObject({ code: grpc.status.OK });
    await until(async () => running.proxy.notice());
    expect(running.registry.render()).toContain("istio_agent_xds_last_good_streams 0");
  });

  test("an Envoy that starts is served at once when the connection is refused", async () => {
    using socket = socketFolder();
    const address = await acceptedAndGone(socket.path, kind);
    await using running = await startWithLastGood(address, socket.path, { graceMs: 600_000 });
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    await client.received(1);
    // One attempt, refused; not held and not tried again.
    expect(running.registry.render()).toMatch(/^istio_agent_istiod_connection_failures 1$/m);
  });

  test("a control plane that comes within the grace period answers the Envoy that was held for it", async () => {
    using socket = socketFolder();
    const server = await startControlPlane();
    const { address } = server;
    // In front of it something that accepts and cuts off: nobody is refused by the machine.
    await using front = await startFreezableProxy(Number(address.split(":")[1]));
    await using running = await startWithLastGood(`127.0.0.1:${front.port}`, socket.path, { graceMs: 60_000 });
    {
      await using client = openRawAds(socket.path, kind);
      await accept(server, client, kind);
    }
    await server[Symbol.asyncDispose]();
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    await until(async () => (running.lastGood.dueInMs() < 60_000 ? undefined : "the first attempt"));
    await using back = await startControlPlane({ port: Number(address.split(":")[1]) });
    const stream = await back.stream(0);
    stream.send(push(kind, CDS, ["new"]));
    await client.received(1);
    expect(read(kind, client.responses[0] ?? Buffer.alloc(0)).names).toEqual(["new"]);
    expect(running.proxy.notice()).toBeUndefined();
  });

  test("an Envoy that starts while no token can be had for the control plane gets what it had accepted", async () => {
    using socket = socketFolder();
    await using server = await startControlPlane();
    let token = () => Promise.resolve("t");
    await using running = await startWithLastGood(server.address, socket.path, { token: () => token() });
    {
      await using client = openRawAds(socket.path, kind);
      await accept(server, client, kind);
    }
    token = () => Promise.reject(new Error("no token file"));
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, CDS, envoy));
    await client.received(1);
    expect(read(kind, client.responses[0] ?? Buffer.alloc(0))).toMatchObject({ version: "7", names: ["a", "b"] });
    expect(running.proxy.notice()).toMatch(/^serving last known good/);
    token = () => Promise.resolve("t");
    const probe = await server.stream(1);
    await probe.received(1);
    probe.send(push(kind, CDS, ["a", "b"]));
    expect(await client.status).toMatchObject({ code: grpc.status.OK });
  });

  test("an Envoy that has its configuration, and clients of another kind, get an error that there is no control plane", async () => {
    using socket = socketFolder();
    const server = await startControlPlane();
    const { address } = server;
    await using running = await startWithLastGood(address, socket.path);
    {
      await using client = openRawAds(socket.path, kind);
      await accept(server, client, kind);
    }
    await server[Symbol.asyncDispose]();
    await failing(socket.path, kind);
    await until(async () => (running.lastGood.dueInMs() <= 0 ? undefined : "the grace period"));
    for (const first of [
      ask(kind, CDS, { ...envoy, version: "7", initial: { a: "1" } }),
      ask(kind, CDS, { agent: "grpc" }),
    ]) {
      await using client = openRawAds(socket.path, kind);
      client.send(first);
      expect(await client.status).toMatchObject({ code: grpc.status.UNAVAILABLE });
    }
    expect(running.registry.render()).not.toContain("istio_agent_xds_last_good_streams");
  });
});

test("a damaged file is ignored with one warning, and written again", async () => {
  using socket = socketFolder();
  await using server = await startControlPlane();
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
  let file: string;
  {
    await using running = await startWithLastGood(server.address, socket.path);
    await using client = openRawAds(socket.path, "delta");
    await accept(server, client, "delta");
    await until(async () => (readdirSync(join(running.directory, "..")).includes("last-good") ? undefined : "no file"));
    file = running.directory;
  }
  const path = join(file, readdirSync(file)[0] ?? "");
  writeFileSync(path, "not mine");
  await using running = await startWithLastGood(server.address, socket.path, { log });
  expect(warnings).toEqual([`ignoring the last known good configuration in ${path}: it is not a file of this agent`]);
  await using client = openRawAds(socket.path, "delta");
  await accept(server, client, "delta", 1);
  await until(async () =>
    readFileSync(path, "utf8").startsWith("pilot-agent last known good") ? undefined : "not written",
  );
  expect(running.proxy.notice()).toBeUndefined();
});

test("a configuration larger than allowed is not retained", async () => {
  using socket = socketFolder();
  const directory = join(dirname(dirname(socket.path)), "last-good");
  await using server = await startControlPlane();
  await using lastGood = await startLastGood({ directory, nodeId: NODE_ID, maxBytes: 1000, log: silentLogger });
  await using _running = await startTestProxy(server.address, socket.path, { lastGood });
  await using client = openRawAds(socket.path, "sotw");
  client.send(ask("sotw", CDS, envoy));
  const stream = await server.stream(0);
  stream.send(push("sotw", CDS, ["a"], { nonce: "1" }));
  await client.received(1);
  client.send(ask("sotw", CDS, { nonce: "1", version: "1" }));
  await stream.received(2);
  expect(lastGood.current()?.snapshot.size).toBe(1);
  stream.send(push("sotw", CDS, ["b".repeat(2000)], { nonce: "2" }));
  await client.received(2);
  expect(client.responses[1]?.length).toBeGreaterThan(2000);
  expect(lastGood.current()).toBeUndefined();
});
