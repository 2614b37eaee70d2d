import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { declareSdsMetrics, type SdsServer, type SdsServerOptions, startSdsServer } from "../../src/sds/index.ts";
import {
  connectSds,
  decodeDelta,
  decodeSecrets,
  node,
  type SdsAnswer,
  SECRET_TYPE,
  type TestSdsClient,
  type TestStream,
} from "../support/sds-client.ts";
import { recordingLogger, type TemporaryDirectory, temporaryDirectory, until } from "../support/sds-manager.ts";
import { createTestSource, type TestSource } from "../support/sds-source.ts";

let directory: TemporaryDirectory;
let source: TestSource;
let server: SdsServer;
let client: TestSdsClient;
let registry: MetricRegistry;
let log: ReturnType<typeof recordingLogger>;

beforeEach(async () => {
  directory = await temporaryDirectory();
  source = createTestSource({ default: "chain 1", ROOTCA: "roots 1" });
  await start();
});
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await server.stop();
  expect(source.listenerCount).toBe(0);
  await directory[Symbol.asyncDispose]();
});

async function start(given: Partial<SdsServerOptions> = {}): Promise<void> {
  registry = new MetricRegistry();
  log = recordingLogger();
  const path = join(directory.path, "sds", "socket");
  server = await startSdsServer({ path, source, metrics: declareSdsMetrics(registry), log, ...given });
  client = connectSds(path);
}

const first = (...resource_names: string[]) => ({ node: node(), type_url: SECRET_TYPE, resource_names });
const later = (response_nonce: string, ...resource_names: string[]) => ({
  type_url: SECRET_TYPE,
  response_nonce,
  resource_names,
});
const names = (answer: SdsAnswer) => decodeSecrets(answer).map(({ name }) => name);

/** Everything sent so far has been handled once a name asked for without a nonce has been answered. */
async function fence(stream: TestStream<SdsAnswer>): Promise<readonly SdsAnswer[]> {
  source.set("ROOT-fence", "fence");
  stream.send({ type_url: SECRET_TYPE, resource_names: ["ROOT-fence"] });
  const before: SdsAnswer[] = [];
  for (;;) {
    const answer = await stream.next();
    if (names(answer).includes("ROOT-fence")) return before;
    before.push(answer);
  }
}

describe("StreamSecrets", () => {
  test("a name is answered with its secret, a version and a nonce", async () => {
    const stream = client.stream();
    stream.send(first("default"));
    const answer = await stream.next();
    expect(answer.type_url).toBe(SECRET_TYPE);
    expect(answer.nonce).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(answer.version_info).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)\/1$/);
    expect(decodeSecrets(answer)[0]?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe("chain 1");
    expect(log.lines).toContain("info ADS: new connection for node:1");
    stream.end();
    await expect(stream.ended).resolves.toMatchObject({ code: grpc.status.OK });
  });

  test("several names come in the order of the request, a repeated one twice", async () => {
    const stream = client.stream();
    stream.send(first("ROOTCA", "default", "ROOTCA"));
    expect(names(await stream.next())).toEqual(["ROOTCA", "default", "ROOTCA"]);
  });

  test("an added name is answered alone, an acknowledgement not at all", async () => {
    const stream = client.stream();
    stream.send(first("default"));
    const { nonce } = await stream.next();
    stream.send(later(nonce, "default"));
    stream.send(later(nonce, "default", "ROOTCA"));
    expect(names(await stream.next())).toEqual(["ROOTCA"]);
  });

  test("a change is pushed to the streams that watch the name, once per content", async () => {
    const [both, rootOnly] = [client.stream(), client.stream()];
    both.send(first("default", "ROOTCA"));
    rootOnly.send(first("ROOTCA"));
    await both.next();
    await rootOnly.next();
    source.touch("default");
    source.set("default", "chain 2");
    const push = await both.next();
    expect(decodeSecrets(push)[0]?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe("chain 2");
    source.set("ROOTCA", "roots 2");
    expect(names(await rootOnly.next())).toEqual(["ROOTCA"]);
    expect(rootOnly.waiting).toEqual([]);
  });

  test("a push does not wait for the acknowledgement of the one before", async () => {
    const stream = client.stream();
    stream.send(first("default"));
    await stream.next();
    for (const content of ["chain 2", "chain 3"]) {
      source.set("default", content);
      expect(decodeSecrets(await stream.next())[0]?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe(
        content,
      );
    }
  });

  test("a stream without a node is refused", async () => {
    for (const request of [{ resource_names: ["default"] }, { node: { id: "" }, resource_names: ["default"] }]) {
      const stream = client.stream();
      stream.send(request);
      await expect(stream.ended).resolves.toEqual(
        expect.objectContaining({ code: grpc.status.INVALID_ARGUMENT, details: "missing node information" }),
      );
    }
  });

  test("health information before the first request is ignored", async () => {
    const stream = client.stream();
    stream.send({ type_url: "type.googleapis.com/istio.v1.HealthInformation" });
    stream.send(first("default"));
    expect(names(await stream.next())).toEqual(["default"]);
  });

  test("a rejection as the very first message is silence, and the stream works on", async () => {
    const stream = client.stream();
    stream.send({ ...first("default"), error_detail: { code: 13, message: "no" } });
    expect(await fence(stream)).toEqual([]);
    expect(log.lines).toContain("warn ADS:SDS: ACK ERROR 1 Internal:no");
    expect(registry.render()).toContain('istio_agent_pilot_total_xds_rejects{type="sds"} 1');
  });

  test("a rejection changes nothing: the next push comes", async () => {
    const stream = client.stream();
    stream.send(first("default"));
    const { nonce } = await stream.next();
    stream.send({ ...later(nonce, "default"), error_detail: { code: 3, message: "bad key" } });
    source.set("default", "chain 2");
    expect(names(await stream.next())).toEqual(["default"]);
  });

  test("a stale nonce is counted and changes nothing", async () => {
    const stream = client.stream();
    stream.send(first("default"));
    await stream.next();
    stream.send(later("stale", "ROOTCA"));
    source.set("ROOTCA", "roots 2");
    expect(await fence(stream)).toEqual([]);
    expect(registry.render()).toContain('istio_agent_pilot_xds_expired_nonce{type="sds"} 1');
  });

  test("no names unsubscribe; names after that are answered in full whatever the nonce", async () => {
    const stream = client.stream();
    stream.send(first("default"));
    const { nonce } = await stream.next();
    stream.send(later(nonce));
    await until("nothing is watched", () => source.listenerCount === 0);
    source.set("default", "chain 2");
    stream.send(later("any", "default", "ROOTCA"));
    expect(names(await stream.next())).toEqual(["default", "ROOTCA"]);
  });

  test("no names of another type get an empty answer", async () => {
    const stream = client.stream();
    stream.send({ node: node(), type_url: "" });
    expect((await stream.next()).resources ?? []).toEqual([]);
  });

  test("a reconnect with nonce and version of the former stream is answered", async () => {
    const stream = client.stream();
    stream.send({ ...first("default"), response_nonce: "former", version_info: "former" });
    expect(names(await stream.next())).toEqual(["default"]);
  });

  test("a secret that cannot be made ends the stream with its cause, and a new stream gets it when it can", async () => {
    source.fail("default", "the CA is down");
    const stream = client.stream();
    stream.send(first("ROOTCA", "default"));
    await expect(stream.ended).resolves.toMatchObject({
      code: grpc.status.UNKNOWN,
      details: "failed to generate secret for default: the CA is down",
    });
    source.set("default", "chain 2");
    const next = client.stream();
    next.send(first("default"));
    expect(names(await next.next())).toEqual(["default"]);
  });

  test("a secret that fails at a push ends the streams that watch it and no other", async () => {
    const [watching, other] = [client.stream(), client.stream()];
    watching.send(first("default"));
    other.send(first("ROOTCA"));
    await watching.next();
    await other.next();
    source.fail("default", "gone");
    await expect(watching.ended).resolves.toMatchObject({ code: grpc.status.UNKNOWN });
    source.set("ROOTCA", "roots 2");
    expect(names(await other.next())).toEqual(["ROOTCA"]);
  });

  test("a secret that takes long holds up its own stream only", async () => {
    source.hold("slow");
    const [waiting, other] = [client.stream(), client.stream()];
    waiting.send(first("slow"));
    other.send(first("default"));
    expect(names(await other.next())).toEqual(["default"]);
    source.set("slow", "at last");
    expect(names(await waiting.next())).toEqual(["slow"]);
  });

  test("a client that goes away while its secret is being made leaves nothing behind", async () => {
    source.hold("slow");
    const stream = client.stream();
    stream.send(first("slow"));
    await until("the secret is asked for", () => source.gets === 1);
    stream.cancel();
    await until("nobody listens any more", () => source.listenerCount === 0);
  });

  test("a client that goes away in the middle of an answer leaves nothing behind", async () => {
    source.set("default", "x".repeat(3_000_000));
    const stream = client.stream();
    stream.send(first("default"));
    await until("the secret is asked for", () => source.gets === 1);
    stream.cancel();
    await until("nobody listens any more", () => source.listenerCount === 0);
    const next = client.stream();
    next.send(first("ROOTCA"));
    expect(names(await next.next())).toEqual(["ROOTCA"]);
  });

  test("ten thousand requests on one stream are all answered, and others are served meanwhile", async () => {
    const [flood, other] = [client.stream(), client.stream()];
    for (let index = 0; index < 10_000; index += 1) flood.send(first("default"));
    other.send(first("ROOTCA"));
    expect(names(await other.next())).toEqual(["ROOTCA"]);
    for (let index = 0; index < 10_000; index += 1) await flood.next();
    expect(process.memoryUsage().heapUsed).toBeLessThan(500_000_000);
  });

  test("a client that does not read costs one answer, not one for each change", async () => {
    const stream = client.stream();
    stream.send(first("default"));
    await stream.next();
    stream.pause();
    source.set("default", "x".repeat(3_000_000));
    await until("the large answer is being sent", () => source.gets === 2);
    for (let index = 0; index < 200; index += 1) source.set("default", `${index}`.repeat(10));
    stream.resume();
    await until("the last content arrived", async () => {
      const answer = await stream.next();
      return decodeSecrets(answer)[0]?.tls_certificate?.certificate_chain.inline_bytes.toString() === "199".repeat(10);
    });
    expect(source.gets).toBeLessThan(10);
  });

  test("other services and types of bytes are refused as gRPC servers do", async () => {
    const stream = client.stream(new grpc.Metadata(), "envoy.service.discovery.v2.SecretDiscoveryService");
    stream.send(first("default"));
    await expect(stream.ended).resolves.toMatchObject({
      code: grpc.status.UNIMPLEMENTED,
      details: "unknown service envoy.service.discovery.v2.SecretDiscoveryService",
    });
  });
});

describe("DeltaSecrets", () => {
  test("subscribed names are answered with versions; what a client still has is not sent again", async () => {
    const stream = client.delta();
    stream.send({
      node: node(),
      type_url: SECRET_TYPE,
      resource_names_subscribe: ["default", "ROOTCA"],
      initial_resource_versions: { default: "chain 1" },
    });
    const answer = await stream.next();
    expect(answer.resources?.map(({ name, version }) => [name, version])).toEqual([["ROOTCA", "roots 1"]]);
    source.set("default", "chain 2");
    const push = await stream.next();
    expect(decodeDelta(push)[0]?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe("chain 2");
  });

  test("a name nobody knows is answered as removed, the others as usual", async () => {
    source.fail("foo", "unknown-name");
    const stream = client.delta();
    stream.send({ node: node(), type_url: SECRET_TYPE, resource_names_subscribe: ["foo", "default"] });
    expect(await stream.next()).toMatchObject({ removed_resources: ["foo"], resources: [{ name: "default" }] });
  });

  test("a secret that goes away is announced as removed, and sent again when it returns", async () => {
    const stream = client.delta();
    stream.send({ node: node(), type_url: SECRET_TYPE, resource_names_subscribe: ["default"] });
    await stream.next();
    source.remove("default");
    expect(await stream.next()).toMatchObject({ removed_resources: ["default"] });
    source.set("default", "chain 1");
    expect(await stream.next()).toMatchObject({ resources: [{ name: "default", version: "chain 1" }] });
  });

  test("an unsubscribed name is not pushed, a rejection is counted", async () => {
    const stream = client.delta();
    stream.send({ node: node(), type_url: SECRET_TYPE, resource_names_subscribe: ["default", "ROOTCA"] });
    const { nonce } = await stream.next();
    stream.send({
      response_nonce: nonce,
      resource_names_unsubscribe: ["default"],
      error_detail: { code: 3, message: "x" },
    });
    await until("one name is left", () => source.listenerCount === 1);
    source.set("default", "chain 2");
    source.set("ROOTCA", "roots 2");
    expect((await stream.next()).resources?.map(({ name }) => name)).toEqual(["ROOTCA"]);
    expect(registry.render()).toContain('istio_agent_pilot_total_xds_rejects{type="sds"} 1');
  });

  test("a secret that cannot be made ends the stream, a missing node as well", async () => {
    source.fail("default", "the CA is down");
    const [failing, nameless] = [client.delta(), client.delta()];
    failing.send({ node: node(), resource_names_subscribe: ["default"] });
    nameless.send({ resource_names_subscribe: ["ROOTCA"] });
    await expect(failing.ended).resolves.toMatchObject({ code: grpc.status.UNKNOWN });
    await expect(nameless.ended).resolves.toMatchObject({ code: grpc.status.INVALID_ARGUMENT });
  });
});

describe("FetchSecrets", () => {
  test("one question gets one answer", async () => {
    const answer = await client.fetch({ resource_names: ["default", "ROOTCA"] });
    expect(names(answer)).toEqual(["default", "ROOTCA"]);
  });

  test("a failure is the call's status", async () => {
    source.fail("default", "the CA is down");
    await expect(client.fetch({ resource_names: ["default"] })).rejects.toMatchObject({
      code: grpc.status.UNKNOWN,
      details: "failed to generate secret for default: the CA is down",
    });
  });
});

describe("the socket", () => {
  test("it replaces what is at its path, is open to all users, and is gone after the stop", async () => {
    await client[Symbol.asyncDispose]();
    await server.stop();
    await server.stop();
    const path = join(directory.path, "sds", "socket");
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
    await writeFile(path, "in the way");
    await start();
    expect((await stat(path)).mode & 0o777).toBe(0o666);
    expect((await stat(join(directory.path, "sds"))).mode & 0o777).toBe(0o750);
  });

  test("a path that cannot be bound is tried again, then the start fails and says so", async () => {
    const path = join(directory.path, "taken");
    await mkdir(join(path, "not-empty"), { recursive: true });
    const failing = recordingLogger();
    const metrics = declareSdsMetrics(new MetricRegistry());
    const options = { path, source, metrics, log: failing, bindRetryMs: [1, 1, 1, 1, 1] };
    await expect(startSdsServer(options)).rejects.toMatchObject({ code: "bind-failed" });
    expect(failing.lines.filter((line) => line.includes("failed to set up UDS"))).toHaveLength(5);
    expect(failing.lines.at(-1)).toBe("warn SDS grpc server could not be started");
    await expect(startSdsServer({ ...options, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "stopped",
    });
  });

  test("a slow reader is dropped when a limit is set, and counted", async () => {
    await client[Symbol.asyncDispose]();
    await server.stop();
    await start({ sendTimeoutMs: 50 });
    const stream = client.stream();
    stream.pause();
    source.set("default", "x".repeat(3_000_000));
    // grpc-js takes a few messages even while it is paused.
    for (let index = 0; index < 20; index += 1) stream.send(first("default"));
    await until("the timeout is counted", () => registry.render().includes("istio_agent_pilot_xds_write_timeout 1"));
    await until("the stream is gone", () => source.listenerCount === 0);
    stream.cancel();
  });
});
