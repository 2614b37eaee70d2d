import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CloseStack } from "../src/base/close-stack.ts";
import { silentLogger } from "../src/base/logger.ts";
import { MetricRegistry } from "../src/base/metric-registry.ts";
import { createGrpcChannel } from "../src/grpc/client/create-grpc-channel.ts";
import { defineMethod, rawCodec } from "../src/grpc/method.ts";
import { implement } from "../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../src/grpc/server/start-grpc-server.ts";
import { declareIdentityMetrics } from "../src/identity/metrics.ts";
import { type SecretManager, startSecretManager } from "../src/identity/start-secret-manager.ts";
import {
  type DiscoveryRequest,
  type DiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../src/protobuf/wire/discovery.ts";
import { declareSdsMetrics } from "../src/sds/metrics.ts";
import { startSdsServer } from "../src/sds/start-sds-server.ts";
import { SECRET_TYPE } from "../src/xds/type-urls.ts";
import { createTestCa, createTestCaClient, SPIFFE_ID } from "../test/support/certs/test-ca.ts";
import type { Bench, BenchRow } from "./bench.ts";

const ANSWERS = 20_000;
const ROTATIONS = 10_000;

const streamSecrets = defineMethod<"bidi", Partial<DiscoveryRequest>, DiscoveryResponse>({
  path: "/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets",
  kind: "bidi",
  request: discoveryRequest,
  response: discoveryResponse,
});
const echo = defineMethod({ path: "/bench.Echo/Echo", kind: "bidi", request: rawCodec, response: rawCodec });

/** Latency of answers from the cache against a bare echo stream on the same transport, and memory over many rotations. */
const bench: Bench = {
  name: "sds",
  async run(context) {
    await using opened = new CloseStack();
    const directory = await mkdtemp(join(tmpdir(), "sds-bench-"));
    opened.defer(() => rm(directory, { recursive: true, force: true }));
    const caClient = createTestCaClient(await createTestCa());
    const manager = await openManager(caClient, opened);
    const rows = await latencyRows(manager, directory, opened);
    context.note(`rotating ${ROTATIONS} times`);
    return [...rows, ...(await memoryRows(manager, caClient, directory))];
  },
};
export default bench;

async function openManager(
  caClient: ReturnType<typeof createTestCaClient>,
  opened: CloseStack,
): Promise<SecretManager> {
  const manager = await startSecretManager({
    caClient,
    key: { type: "ecdsa", curve: "P256" },
    pkcs8: true,
    hosts: [SPIFFE_ID],
    ttlSeconds: 3600,
    renewal: { ratio: 0.5, jitter: 0 },
    fileDebounceMs: 100,
    metrics: declareIdentityMetrics(new MetricRegistry()),
    log: silentLogger,
  });
  opened.add(manager);
  await manager.get("default");
  return manager;
}

async function latencyRows(manager: SecretManager, directory: string, opened: CloseStack): Promise<BenchRow[]> {
  const path = join(directory, "sds");
  const metrics = declareSdsMetrics(new MetricRegistry());
  opened.add(await startSdsServer({ path, source: manager, metrics, log: silentLogger }));
  const echoPath = join(directory, "echo");
  const answer = await encodedAnswer(manager);
  const echoServer = implement(echo, async (requests, call) => {
    for await (const _request of requests) await call.write(answer);
  });
  opened.add(await startGrpcServer({ listen: { path: echoPath }, methods: [echoServer], log: silentLogger }));
  const request = { node: { id: "bench" }, typeUrl: SECRET_TYPE, resourceNames: ["default"] };
  const bytes = discoveryRequest.encode(request);
  const ours = await measure(path, streamSecrets, request, opened);
  const bare = await measure(echoPath, echo, bytes, opened);
  return (["p50", "p99"] as const).map((key) => ({
    name: `cached answer ${key}`,
    value: ours[key],
    unit: "ms",
    ratio: { to: "bare echo stream", value: ours[key] / bare[key] },
    goal: "a small multiple: the transport takes most of the time",
  }));
}

/** As many bytes as an answer has, so that only the work on the secret differs. */
async function encodedAnswer(manager: SecretManager): Promise<Buffer> {
  const secret = await manager.get("default");
  const size = secret.kind === "key-pair" ? secret.certificateChain.length + secret.privateKey.reveal().length : 0;
  return Buffer.alloc(size + 300, 1);
}

async function measure<Request, Response>(
  path: string,
  method: ReturnType<typeof defineMethod<"bidi", Request, Response>>,
  request: Request,
  opened: CloseStack,
): Promise<{ readonly p50: number; readonly p99: number }> {
  const channel = createGrpcChannel(`unix:${path}`);
  opened.add(channel);
  const call = await channel.bidi(method, {});
  const times: number[] = [];
  for (let index = 0; index < ANSWERS; index += 1) {
    const startMs = performance.now();
    await call.write(request);
    await call.responses.next();
    if (index >= ANSWERS / 4) times.push(performance.now() - startMs);
  }
  call.cancel();
  times.sort((left, right) => left - right);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Rotates as fast as the CA signs, with a subscriber that gets each certificate, and compares the heap early and late. */
async function memoryRows(
  first: SecretManager,
  caClient: ReturnType<typeof createTestCaClient>,
  directory: string,
): Promise<BenchRow[]> {
  await first.stop();
  await using opened = new CloseStack();
  const manager = await startSecretManager({
    caClient,
    key: { type: "ecdsa", curve: "P256" },
    pkcs8: true,
    hosts: [SPIFFE_ID],
    ttlSeconds: 3600,
    renewal: { ratio: 1, jitter: 0 },
    fileDebounceMs: 100,
    metrics: declareIdentityMetrics(new MetricRegistry()),
    log: silentLogger,
    tuning: { minGapMs: 0 },
  });
  opened.add(manager);
  const path = join(directory, "rotating");
  const metrics = declareSdsMetrics(new MetricRegistry());
  opened.add(await startSdsServer({ path, source: manager, metrics, log: silentLogger }));
  const channel = createGrpcChannel(`unix:${path}`);
  opened.add(channel);
  const call = await channel.bidi(streamSecrets, {});
  await call.write({ node: { id: "bench" }, typeUrl: SECRET_TYPE, resourceNames: ["default"] });
  const start = caClient.calls;
  let earlyBytes = 0;
  for await (const { nonce } of call.responses) {
    await call.write({ typeUrl: SECRET_TYPE, resourceNames: ["default"], responseNonce: nonce });
    const done = caClient.calls - start;
    if (earlyBytes === 0 && done >= ROTATIONS / 10) earlyBytes = usedBytes();
    if (done >= ROTATIONS) break;
  }
  const lateBytes = usedBytes();
  return [
    {
      name: `memory after ${ROTATIONS} rotations`,
      value: lateBytes / 1e6,
      unit: "MB",
      ratio: { to: "memory after a tenth of them", value: lateBytes / earlyBytes },
      goal: "flat: a ratio of about 1",
    },
  ];
}

/** Heap and buffers after a full collection, so that only what is kept counts. */
function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
