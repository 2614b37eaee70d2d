import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { createGatewaySecrets } from "../../src/sds/compat/gateway/start-gateway-sds.ts";
import type { LegacyToken } from "../../src/sds/compat/legacy-rules.ts";
import { declareLegacySdsMetrics } from "../../src/sds/compat/legacy-stream.ts";
import { declareSdsMetrics } from "../../src/sds/metrics.ts";
import { type SdsServer, startSdsServer } from "../../src/sds/start-sds-server.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/files/temporary-folder.ts";
import { recordLog } from "../support/log/recording-log.ts";
import { connectSds, decodeSecrets, node, SECRET_TYPE, type TestSdsClient } from "../support/sds/client.ts";
import { createTestSource } from "../support/sds/source.ts";
import { until } from "../support/wait/until.ts";

const V2_SERVICE = "envoy.service.discovery.v2.SecretDiscoveryService";
const V2_TYPE = "type.googleapis.com/envoy.api.v2.auth.Secret";
const ca = await createTestCa();
let directory: TemporaryFolder;
let server: SdsServer;
let client: TestSdsClient;
let registry: MetricRegistry;
let source: ReturnType<typeof createTestSource>;

beforeEach(async () => {
  directory = temporaryFolder();
  source = createTestSource({ default: "chain 1" });
});
afterEach(async () => {
  await client[Symbol.asyncDispose]();
  await server.stop();
  await directory[Symbol.asyncDispose]();
});

async function start(
  token: LegacyToken = { kind: "none" },
  from: Parameters<typeof startSdsServer>[0]["source"] = source,
) {
  const path = join(directory.path, "SDS");
  registry = new MetricRegistry();
  const legacy = { token, metrics: declareLegacySdsMetrics(registry) };
  const metrics = declareSdsMetrics(registry);
  server = await startSdsServer({ path, source: from, metrics, log: recordLog(), legacy });
  client = connectSds(path);
}

const ask = (...resource_names: string[]) => ({ node: node(), type_url: SECRET_TYPE, resource_names });

test("version and nonce are the time of the making, and quoting them is an acknowledgement", async () => {
  await start();
  const stream = client.stream();
  stream.send(ask("default"));
  const answer = await stream.next();
  expect(answer.version_info).toMatch(/^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/);
  expect(answer.nonce).toBe(answer.version_info);
  stream.send({ ...ask("default"), version_info: answer.version_info, response_nonce: answer.nonce });
  source.set("default", "chain 2");
  const push = await stream.next();
  expect(push.version_info).not.toBe(answer.version_info);
});

test("connections and pushes are counted as those releases did", async () => {
  await start();
  const stream = client.stream();
  stream.send(ask("default"));
  const { version_info } = await stream.next();
  stream.send({ ...ask("default"), version_info });
  source.set("default", "chain 2");
  const { version_info: second } = await stream.next();
  expect(registry.render()).toContain("istio_agent_total_active_connections 1");
  stream.send({ ...ask("default"), version_info: second });
  source.fail("default", "gone");
  await stream.ended;
  await until("the end is counted", () => registry.render().includes("istio_agent_total_stale_connections 1"));
  const text = registry.render();
  for (const line of ["total_active_connections 0", "total_push_errors 1", "total_secret_update_failures 1"]) {
    expect(text).toContain(`istio_agent_${line}`);
  }
});

test("a push is held back until the answer before it has been acknowledged", async () => {
  await start();
  const stream = client.stream();
  stream.send(ask("default"));
  const { version_info } = await stream.next();
  source.set("default", "chain 2");
  source.set("default", "chain 3");
  expect(stream.waiting).toEqual([]);
  stream.send({ ...ask("default"), version_info });
  const [secret] = decodeSecrets(await stream.next());
  expect(secret?.tls_certificate?.certificate_chain.inline_bytes.toString()).toBe("chain 3");
});

test("the retired API version is served with its own type", async () => {
  await start();
  const stream = client.stream(new grpc.Metadata(), V2_SERVICE);
  stream.send({ ...ask("default"), type_url: V2_TYPE });
  expect(await stream.next()).toMatchObject({ type_url: V2_TYPE, resources: [{ type_url: V2_TYPE }] });
});

test("two names, or no node, end the stream", async () => {
  await start();
  const [two, nameless] = [client.stream(), client.stream()];
  two.send(ask("default", "ROOTCA"));
  nameless.send({ resource_names: ["default"] });
  await expect(two.ended).resolves.toMatchObject({ details: expect.stringContaining("more than one resourceNames") });
  await expect(nameless.ended).resolves.toMatchObject({ details: "missing Node ID in the first request" });
});

test("a fetch answers one name", async () => {
  await start();
  expect(decodeSecrets(await client.fetch(ask("default")))).toMatchObject([{ name: "default" }]);
  await expect(client.fetch(ask("a", "b"))).rejects.toMatchObject({ code: grpc.status.UNKNOWN });
});

test("a token is asked of the client where the agent has none, and must be readable where it has one", async () => {
  await start({ kind: "metadata" });
  const refused = client.stream();
  refused.send(ask("default"));
  await expect(refused.ended).resolves.toMatchObject({ details: "credential token is not found in gRPC metadata" });
  const metadata = new grpc.Metadata();
  metadata.set("authorization", "Bearer x");
  const accepted = client.stream(metadata);
  accepted.send(ask("default"));
  await accepted.next();
  await client[Symbol.asyncDispose]();
  await server.stop();
  await start({ kind: "local", read: () => Promise.reject(new Error("open ./token: no such file")) });
  const unreadable = client.stream();
  unreadable.send(ask("default"));
  await expect(unreadable.ended).resolves.toMatchObject({ details: expect.stringContaining("open ./token") });
});

test("a gateway's secret is pushed when it appears, and its deletion ends the stream", async () => {
  const secrets = createGatewaySecrets({ log: recordLog() });
  await start({ kind: "none" }, secrets);
  const [web, other] = [client.stream(), client.stream()];
  web.send(ask("web-cert"));
  other.send(ask("other-cert"));
  const { cert, key } = await ca.pair(["web.test"]);
  const data = new Map([
    ["tls.crt", Buffer.from(cert)],
    ["tls.key", Buffer.from(key)],
  ]);
  // The stream listens before it looks, so that whatever comes first, the secret or the question, it is answered.
  secrets.apply({ name: "web-cert", data });
  const answer = await web.next();
  expect(decodeSecrets(answer)).toMatchObject([{ name: "web-cert" }]);
  web.send({ ...ask("web-cert"), version_info: answer.version_info });
  let isOpen = true;
  void web.ended.then(() => {
    isOpen = false;
  });
  secrets.remove("web-cert");
  await until("the stream has ended", () => !isOpen);
  await expect(web.ended).resolves.toMatchObject({ details: expect.stringContaining("Close connection to proxy") });
  secrets.apply({ name: "other-cert", data });
  await other.next();
});
