import { readdirSync } from "node:fs";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { deltaDiscoveryRequest, discoveryRequest } from "../../src/protobuf/wire/discovery.ts";
import { ADS_PATHS } from "../../src/xds/methods.ts";
import { NAME_TABLE_TYPE, PROXY_CONFIG_TYPE } from "../../src/xds/type-urls.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { recordLog } from "../support/log/recording-log.ts";
import { until } from "../support/wait/until.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { startControlPlane } from "../support/xds/control-plane.ts";
import { ask, CDS, LDS, push, startTestProxy } from "../support/xds/harness.ts";

const HEALTH = "type.googleapis.com/istio.v1.HealthInformation";
const ECDS = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";
const envoy = { agent: "envoy" };
const raw = (bytes: Buffer) => bytes;
const ignored = { handle: () => undefined };

/** What must hold of streams, whichever of the two protocols the client speaks. */
describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  const decode = (bytes: Buffer | undefined) =>
    (kind === "sotw" ? discoveryRequest : deltaDiscoveryRequest).decode(bytes ?? Buffer.alloc(0));

  describe("connections", () => {
    test("two streams on one connection each have their own upstream, and both work", async () => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      await using running = await startTestProxy(server.address, socket.path);
      const client = new grpc.Client(`unix:${socket.path}`, grpc.credentials.createInsecure());
      const open = () => {
        const call = client.makeBidiStreamRequest(ADS_PATHS[kind], raw, raw, new grpc.Metadata(), {});
        const got: Buffer[] = [];
        call.on("data", (bytes: Buffer) => got.push(bytes)).on("error", () => undefined);
        call.write(ask(kind, CDS, envoy));
        return { call, got };
      };
      const first = open();
      const upstream = await server.stream(0);
      const second = open();
      const other = await server.stream(1);
      upstream.send(push(kind, CDS, ["to the first"]));
      other.send(push(kind, CDS, ["to the second"]));
      await until(async () => (first.got.length + second.got.length === 2 ? undefined : "not both answered"));
      expect([first.got[0], second.got[0]]).toEqual([
        push(kind, CDS, ["to the first"]),
        push(kind, CDS, ["to the second"]),
      ]);
      first.call.cancel();
      await upstream.closed;
      second.call.write(ask(kind, LDS));
      await other.received(2);
      expect(running.proxy.describeStreams()).toHaveLength(1);
      second.call.cancel();
      client.close();
    });

    test("a connection that is closed and opened again, and one opened while another lives, both work", async () => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      await using _running = await startTestProxy(server.address, socket.path);
      const first = openRawAds(socket.path, kind);
      first.send(ask(kind, CDS, envoy));
      await (await server.stream(0)).received(1);
      await first[Symbol.asyncDispose]();
      await (await server.stream(0)).closed;
      const second = openRawAds(socket.path, kind);
      second.send(ask(kind, CDS, envoy));
      await (await server.stream(1)).received(1);
      await using third = openRawAds(socket.path, kind);
      third.send(ask(kind, CDS, envoy));
      const kept = await server.stream(2);
      await kept.received(1);
      await second[Symbol.asyncDispose]();
      kept.send(push(kind, CDS, ["a"]));
      await third.received(1);
    });

    test("a control plane that stops and starts again on its port: the stream ends, the next one works", async () => {
      using socket = socketFolder();
      const server = await startControlPlane();
      await using _running = await startTestProxy(server.address, socket.path);
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, CDS, envoy));
      await (await server.stream(0)).received(1);
      server.forceStop();
      expect(await client.status).toMatchObject({ code: grpc.status.UNAVAILABLE });
      await using again = await startControlPlane({ port: Number(server.address.split(":")[1]) });
      await using next = openRawAds(socket.path, kind);
      next.send(ask(kind, CDS, envoy));
      const stream = await again.stream(0);
      stream.send(push(kind, CDS, ["a"]));
      await next.received(1);
    });

    test("a client that goes away with 15 responses waiting for it leaves nothing behind", async () => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      await using running = await startTestProxy(server.address, socket.path);
      const descriptors = () => readdirSync("/proc/self/fd").length;
      const before = descriptors();
      const client = openRawAds(socket.path, kind);
      client.send(ask(kind, CDS, envoy));
      const stream = await server.stream(0);
      client.pause();
      for (let count = 0; count < 15; count += 1) stream.send(push(kind, CDS, ["x".repeat(1_000_000)]));
      await until(async () =>
        running.proxy.describeStreams()[0]?.responses ? undefined : "the first response is not through",
      );
      await client[Symbol.asyncDispose]();
      await stream.closed;
      await until(async () => {
        const [streams, open] = [running.proxy.describeStreams().length, descriptors()];
        return streams === 0 && open <= before ? undefined : `${streams} streams, ${open} descriptors of ${before}`;
      });
    });

    test("neither side sees the other's headers", async () => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      await using _running = await startTestProxy(server.address, socket.path);
      const client = new grpc.Client(`unix:${socket.path}`, grpc.credentials.createInsecure());
      const metadata = new grpc.Metadata();
      metadata.set("x-from-client", "1");
      metadata.set("authorization", "Bearer of-the-client");
      const call = client.makeBidiStreamRequest(ADS_PATHS[kind], raw, raw, metadata, {});
      call.on("error", () => undefined).on("data", () => undefined);
      const headers = new Promise<grpc.Metadata>((resolve) => call.on("metadata", resolve));
      call.write(ask(kind, CDS, envoy));
      const stream = await server.stream(0);
      expect(stream.metadata.get("x-from-client")).toEqual([]);
      expect(stream.metadata.get("authorization")).toEqual([]);
      stream.sendHeaders({ "x-from-server": "1" });
      stream.send(push(kind, CDS, ["a"]));
      expect((await headers).get("x-from-server")).toEqual([]);
      call.cancel();
      client.close();
    });

    test.each([
      ["a number without an end", Buffer.from("ffffffff", "hex")],
      // Before its type is known: what has begun to pass cannot be taken back.
      ["a response that was cut", push(kind, CDS, []).subarray(0, 3)],
    ])("%s ends the stream as undecodable, and the next one works", async (_, bytes) => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      await using running = await startTestProxy(server.address, socket.path);
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, CDS, envoy));
      (await server.stream(0)).send(bytes);
      expect(await client.status).toMatchObject({
        code: grpc.status.INTERNAL,
        details: expect.stringContaining("grpc: failed to unmarshal the received message"),
      });
      expect(running.registry.render()).toContain('istio_agent_istiod_connection_terminations{type="error"} 1');
      await using next = openRawAds(socket.path, kind);
      next.send(ask(kind, CDS, envoy));
      (await server.stream(1)).send(push(kind, CDS, ["a"]));
      await next.received(1);
    });

    test("a request over the limit ends its stream with the numbers, is reported with the remedy and not counted", async () => {
      using socket = socketFolder();
      const log = recordLog();
      await using server = await startControlPlane();
      await using running = await startTestProxy(server.address, socket.path, { maxReceiveBytes: 100_000, log });
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, CDS, envoy));
      await (await server.stream(0)).received(1);
      const large = ask(kind, CDS, { names: ["x".repeat(200_000)] });
      client.send(large);
      expect(await client.status).toMatchObject({
        code: grpc.status.RESOURCE_EXHAUSTED,
        details: `grpc: received message larger than max (${large.length} vs. 100000)`,
      });
      await until(async () => (log.text().includes("ISTIO_GPRC_MAXRECVMSGSIZE") ? undefined : log.text()));
      const [, largest = ""] = /istio_agent_pilot_xds_recv_max (\d+)/.exec(running.registry.render()) ?? [];
      expect(Number(largest)).toBe(ask(kind, CDS, envoy).length);
    });
  });

  describe("what the agent asks for itself", () => {
    test("name table, trust anchors and health follow the first listeners, without node, names, version or nonce", async () => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      await using running = await startTestProxy(server.address, socket.path, {
        handlers: [
          { typeUrl: NAME_TABLE_TYPE, ...ignored },
          { typeUrl: PROXY_CONFIG_TYPE, ...ignored },
        ],
      });
      running.proxy.reportHealth({ healthy: true });
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, CDS, envoy));
      client.send(ask(kind, LDS));
      const stream = await server.stream(0);
      await stream.received(5);
      expect(stream.types()).toEqual([CDS, LDS, NAME_TABLE_TYPE, PROXY_CONFIG_TYPE, HEALTH]);
      for (const [index, typeUrl] of [NAME_TABLE_TYPE, PROXY_CONFIG_TYPE, HEALTH].entries()) {
        const codec = kind === "sotw" ? discoveryRequest : deltaDiscoveryRequest;
        expect(stream.requests[index + 2]).toEqual(codec.encode({ typeUrl }));
      }
    });

    test("a refused name table keeps the version accepted before, and one of another type is refused", async () => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      const handle = (bytes: Buffer) => {
        if (bytes.includes("bad")) throw new Error("no such table");
      };
      await using _running = await startTestProxy(server.address, socket.path, {
        handlers: [{ typeUrl: NAME_TABLE_TYPE, handle }],
      });
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, LDS, envoy));
      const stream = await server.stream(0);
      await stream.received(2);
      stream.send(push(kind, NAME_TABLE_TYPE, ["good"], { version: "v1", nonce: "n1" }));
      stream.send(push(kind, NAME_TABLE_TYPE, ["bad"], { version: "v2", nonce: "n2" }));
      await stream.received(4);
      const version = kind === "sotw" ? { versionInfo: "v1" } : {};
      expect(decode(stream.requests[2])).toMatchObject({ ...version, responseNonce: "n1", errorDetail: undefined });
      const error = { code: 13, message: "no such table" };
      expect(decode(stream.requests[3])).toMatchObject({ ...version, responseNonce: "n2", errorDetail: error });
      expect(decode(stream.requests[3]).node).toBeUndefined();
    });
  });

  describe("workload health", () => {
    const verdicts = (requests: readonly Buffer[]) =>
      requests
        .map(decode)
        .filter(({ typeUrl }) => typeUrl === HEALTH)
        .map(({ errorDetail }) => errorDetail?.message ?? "healthy");

    test("nothing is said before listeners were asked for; then the last state is, and each change", async () => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      await using running = await startTestProxy(server.address, socket.path);
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, CDS, envoy));
      const stream = await server.stream(0);
      await stream.received(1);
      running.proxy.reportHealth({ healthy: false, message: "too early" });
      running.proxy.reportHealth({ healthy: true });
      client.send(ask(kind, CDS));
      await stream.received(2);
      expect(verdicts(stream.requests)).toEqual([]);
      client.send(ask(kind, LDS));
      await stream.received(4);
      running.proxy.reportHealth({ healthy: false, message: "down" });
      running.proxy.reportHealth({ healthy: true });
      await stream.received(6);
      expect(verdicts(stream.requests)).toEqual(["healthy", "down", "healthy"]);
      expect(decode(stream.requests[4]).errorDetail?.code).toBe(13);
    });

    test("the state is said again after a reconnect, also when it changed meanwhile", async () => {
      using socket = socketFolder();
      await using server = await startControlPlane();
      await using running = await startTestProxy(server.address, socket.path);
      const round = async (index: number, leave: boolean) => {
        const client = openRawAds(socket.path, kind);
        client.send(ask(kind, LDS, envoy));
        const stream = await server.stream(index);
        await stream.received(2);
        if (leave) await client[Symbol.asyncDispose]();
        if (leave) await stream.closed;
        return verdicts(stream.requests);
      };
      running.proxy.reportHealth({ healthy: true });
      expect(await round(0, true)).toEqual(["healthy"]);
      expect(await round(1, true)).toEqual(["healthy"]);
      await until(async () => (running.proxy.describeStreams().length === 0 ? undefined : "still connected"));
      running.proxy.reportHealth({ healthy: false, message: "while away" });
      expect(await round(2, true)).toEqual(["while away"]);
    });
  });

  test("a rewritten response that is ready after its client has gone is dropped, and reported", async () => {
    using socket = socketFolder();
    const log = recordLog();
    let finish: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await using server = await startControlPlane();
    await using _running = await startTestProxy(server.address, socket.path, {
      log,
      converters: [{ typeUrl: ECDS, convert: async ({ message }) => waiting.then(() => ({ message })) }],
    });
    const client = openRawAds(socket.path, kind);
    client.send(ask(kind, ECDS, { ...envoy, names: ["w"] }));
    const stream = await server.stream(0);
    stream.send(push(kind, ECDS, ["w"]));
    stream.send(push(kind, CDS, ["passed meanwhile"]));
    await client.received(1);
    await client[Symbol.asyncDispose]();
    await stream.closed;
    finish();
    const text = `downstream dropped ${kind === "delta" ? "delta " : ""}xds push to Envoy, connection already closed`;
    await until(async () => (log.text().includes(`error ${text}`) ? undefined : log.text()));
  });
});
