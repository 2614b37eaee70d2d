import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { GrpcError } from "../../grpc/status.ts";
import { any } from "../../protobuf/wire/discovery.ts";
import { sotwBody } from "../../xds/encode-response.ts";
import { type AnswerWriterOptions, countSendFailure, createAnswerWriter, isDoneWithin } from "./answer-writer.ts";
import { declareAdsMetrics } from "./metrics.ts";

const resource = (name: string, bytes = 1) => ({
  name,
  version: "v1",
  any: any.encode({ typeUrl: name, value: Buffer.alloc(bytes, name) }),
});
function setUp(given: Partial<AnswerWriterOptions> = {}) {
  const registry = new MetricRegistry();
  const messages: { bytes: Buffer; compressed: boolean }[] = [];
  const write = createAnswerWriter({
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

describe("compression", () => {
  const large = [sotwBody([resource("a", 100_000)])];

  test("is for clients that take it, and the message unpacks to the same", () => {
    const [plain, packed] = [setUp(), setUp({ compresses: true })];
    for (const { write } of [plain, packed]) write("CDS", large);
    expect(plain.messages[0]?.compressed).toBe(false);
    expect(packed.messages[0]?.compressed).toBe(true);
    expect(gunzipSync(packed.messages[0]?.bytes ?? "").equals(plain.messages[0]?.bytes ?? Buffer.alloc(0))).toBe(true);
  });

  test("is left out where it is not worth it", () => {
    const { write, messages } = setUp({ compresses: true });
    write("CDS", [sotwBody([resource("a")])]);
    expect(messages[0]?.compressed).toBe(false);
  });

  test("is counted by what went out, the answer's size by what was in it", () => {
    const { write, messages, figure } = setUp({ compresses: true });
    write("CDS", large);
    expect(figure('pilot_xds_sent_bytes_total\\{encoding="gzip"\\}')).toBe(messages[0]?.bytes.length);
    expect(figure('pilot_xds_config_size_bytes_sum\\{type="cds"\\}')).toBeGreaterThan(100_000);
    expect(figure('pilot_xds_pushes\\{type="cds"\\}')).toBe(1);
  });
});

test("a client that is behind is shown by the network's promise", async () => {
  const room = Promise.resolve();
  const { write } = setUp({ write: () => room });
  expect(write("CDS", [])).toBe(room);
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
  expect(() => write("RDS", [])).toThrow(thrown);
  expect(figure('pilot_xds_pushes\\{type="rds_senderr"\\}')).toBe(counted);
  expect(figure('pilot_xds_pushes\\{type="rds"\\}')).toBe(0);
});

describe("the wait for a client", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const never = new Promise<void>(() => undefined);

  test("work is done in time, or late, and leaves no timer either way", async () => {
    await expect(isDoneWithin(Promise.resolve(), 100)).resolves.toBe(true);
    const late = isDoneWithin(never, 100);
    await vi.advanceTimersByTimeAsync(100);
    await expect(late).resolves.toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([undefined, 2 ** 31, Number.POSITIVE_INFINITY])(
    "within %d ms no one is late after a minute",
    async (ms) => {
      const settled = vi.fn();
      void isDoneWithin(never, ms).then(settled);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(settled).not.toHaveBeenCalled();
    },
  );

  test("work that fails is reported to who waits for it", async () => {
    await expect(isDoneWithin(Promise.reject(new Error("broken")), 100)).rejects.toThrow("broken");
  });

  test.each([
    { thrown: new GrpcError("CANCELLED", "gone"), counts: [] },
    { thrown: new GrpcError("UNAVAILABLE", "gone"), counts: [] },
    { thrown: new GrpcError("RESOURCE_EXHAUSTED", "too large"), counts: [["cds_senderr"]] },
    { thrown: new Error("broken"), counts: [["cds_senderr"]] },
  ])("a send that fails with $thrown counts as $counts", ({ thrown, counts }) => {
    const inc = vi.fn();
    const pushes = { inc } as unknown as Parameters<typeof countSendFailure>[0]["pushes"];
    countSendFailure({ pushes }, "cds", thrown);
    expect(inc.mock.calls.map(([labels]) => labels)).toEqual(counts);
  });
});
