import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { GrpcError } from "../../grpc/status.ts";
import { any, deltaDiscoveryResponse, discoveryResponse } from "../../protobuf/wire/discovery.ts";
import { type AnswerWriterOptions, createAnswerWriter } from "./answer-writer.ts";
import type { Plan } from "./core/plan-answer.ts";
import { deltaBody, sotwBody } from "./core/set-difference.ts";
import { declareAdsMetrics } from "./metrics.ts";

const resource = (name: string, bytes = 1) => ({
  name,
  version: "v1",
  any: any.encode({ typeUrl: name, value: Buffer.alloc(bytes, name) }),
});
const planOf = (body: Plan["body"], removed: readonly string[] = []): Plan => ({
  body,
  count: 1,
  removed,
  changed: [],
});

function setUp(given: Partial<AnswerWriterOptions> = {}) {
  const registry = new MetricRegistry();
  const messages: { bytes: Buffer; compressed: boolean }[] = [];
  const write = createAnswerWriter({
    protocol: "sotw",
    write: (chunks, compressed) => {
      messages.push({ bytes: Buffer.concat(chunks), compressed });
      return undefined;
    },
    metrics: declareAdsMetrics(registry),
    ...given,
  });
  const figure = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(registry.render())?.[1] ?? 0);
  return { write, messages, figure };
}

const HEAD = { version: "2026-01-01T00:00:00Z/1", nonce: "abc" };

test("a state-of-the-world answer says type, version and nonce around the resources", () => {
  const { write, messages } = setUp();
  write("CDS", { plan: planOf([sotwBody([resource("a"), resource("b")])]), ...HEAD });
  const answer = discoveryResponse.decode(messages[0]?.bytes ?? Buffer.alloc(0));
  expect(answer).toMatchObject({
    typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
    versionInfo: HEAD.version,
    nonce: "abc",
  });
  expect(answer.resources.map(({ typeUrl }) => typeUrl)).toEqual(["a", "b"]);
});

test("a delta answer says as well what is gone", () => {
  const { write, messages } = setUp({ protocol: "delta" });
  write("LDS", { plan: planOf([deltaBody([resource("a")]), deltaBody([resource("b")])], ["old"]), ...HEAD });
  const answer = deltaDiscoveryResponse.decode(messages[0]?.bytes ?? Buffer.alloc(0));
  expect(answer).toMatchObject({ systemVersionInfo: HEAD.version, nonce: "abc", removedResources: ["old"] });
  expect(answer.resources.map(({ name, version }) => `${name} ${version}`)).toEqual(["a v1", "b v1"]);
});

describe("compression", () => {
  const large = [sotwBody([resource("a", 100_000)])];

  test("is for clients that take it, and the message unpacks to the same", () => {
    const [plain, packed] = [setUp(), setUp({ compresses: true })];
    for (const { write } of [plain, packed]) write("CDS", { plan: planOf(large), ...HEAD });
    expect(plain.messages[0]?.compressed).toBe(false);
    expect(packed.messages[0]?.compressed).toBe(true);
    expect(gunzipSync(packed.messages[0]?.bytes ?? "").equals(plain.messages[0]?.bytes ?? Buffer.alloc(0))).toBe(true);
  });

  test("is left out where it is not worth it", () => {
    const { write, messages } = setUp({ compresses: true });
    write("CDS", { plan: planOf([sotwBody([resource("a")])]), ...HEAD });
    expect(messages[0]?.compressed).toBe(false);
  });

  test("is counted by what went out, the answer's size by what was in it", () => {
    const { write, messages, figure } = setUp({ compresses: true });
    write("CDS", { plan: planOf(large), ...HEAD });
    expect(figure('pilot_xds_sent_bytes_total\\{encoding="gzip"\\}')).toBe(messages[0]?.bytes.length);
    expect(figure('pilot_xds_config_size_bytes_sum\\{type="cds"\\}')).toBeGreaterThan(100_000);
    expect(figure('pilot_xds_pushes\\{type="cds"\\}')).toBe(1);
  });
});

test("a client that is behind is told of by the network's promise", async () => {
  const room = Promise.resolve();
  const { write } = setUp({ write: () => room });
  expect(write("CDS", { plan: planOf([]), ...HEAD })).toBe(room);
});

test.each([
  { name: "a client that went away", thrown: new GrpcError("CANCELLED", "gone"), counted: 0 },
  { name: "a connection that is lost", thrown: new GrpcError("UNAVAILABLE", "lost"), counted: 0 },
  { name: "another status", thrown: new GrpcError("INTERNAL", "oops"), counted: 1 },
  { name: "a mistake of ours", thrown: new TypeError("oops"), counted: 1 },
])("$name fails the sending and counts $counted times", ({ thrown, counted }) => {
  const { write, figure } = setUp({
    write: () => {
      throw thrown;
    },
  });
  expect(() => write("RDS", { plan: planOf([]), ...HEAD })).toThrow(thrown);
  expect(figure('pilot_xds_pushes\\{type="rds_senderr"\\}')).toBe(counted);
  expect(figure('pilot_xds_pushes\\{type="rds"\\}')).toBe(0);
});
