import { expect, test } from "vitest";
import { startOtlpGrpcReceiver, startOtlpReceiver } from "../../../test/support/telemetry/otlp-receiver.ts";
import type { OtlpSettings } from "./exporter.ts";
import { createGrpcExporter } from "./grpc-exporter.ts";
import { createHttpExporter } from "./http-exporter.ts";
import { encodeExport } from "./metric-writer.ts";

const settings = (endpoint: string, more: Partial<OtlpSettings> = {}): OtlpSettings => ({
  protocol: "grpc",
  endpoint,
  intervalMs: 1000,
  timeoutMs: 30_000,
  headers: {},
  caFile: "",
  certFile: "",
  keyFile: "",
  resource: [],
  ...more,
});
const BODY = encodeExport([["service.name", "web"]], "test", []);
const { signal } = new AbortController();

test.each([
  { status: 1, code: "retryable" },
  { status: 2, code: "permanent" },
  { status: 3, code: "permanent" },
  { status: 4, code: "retryable" },
  { status: 5, code: "permanent" },
  { status: 7, code: "permanent" },
  { status: 8, code: "permanent" },
  { status: 10, code: "retryable" },
  { status: 11, code: "retryable" },
  { status: 12, code: "permanent" },
  { status: 13, code: "permanent" },
  { status: 14, code: "retryable" },
  { status: 15, code: "retryable" },
  { status: 16, code: "permanent" },
  { status: { status: 8, retryAfterSeconds: 3 }, code: "retryable", retryAfterMs: 3000 },
  { status: { status: 14, retryAfterSeconds: 9 }, code: "retryable", retryAfterMs: 9000 },
])("gRPC status $status is $code", async ({ status, code, retryAfterMs }) => {
  await using receiver = await startOtlpGrpcReceiver();
  receiver.answer(status);
  await using exporter = createGrpcExporter(settings(receiver.url));
  await expect(exporter.send(BODY, signal)).rejects.toMatchObject({ code, retryAfterMs });
});

test.each([
  { status: 400, code: "permanent" },
  { status: 429, code: "retryable" },
  { status: 500, code: "permanent" },
  { status: 502, code: "retryable" },
  { status: 503, code: "retryable" },
  { status: 504, code: "retryable" },
  { status: { status: 429, retryAfterSeconds: 3 }, code: "retryable", retryAfterMs: 3000 },
])("HTTP status $status is $code", async ({ status, code, retryAfterMs }) => {
  await using receiver = await startOtlpReceiver();
  receiver.answer(status);
  await using exporter = createHttpExporter(settings(receiver.url));
  await expect(exporter.send(BODY, signal)).rejects.toMatchObject({ code, retryAfterMs });
});

test("a header that gRPC does not carry is said by its name, without its value", async () => {
  await using receiver = await startOtlpGrpcReceiver();
  await using exporter = createGrpcExporter(settings(receiver.url, { headers: { "x-token-bin": "s3cret" } }));
  const failure = await exporter.send(BODY, signal).catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ code: "permanent", message: expect.stringContaining('"x-token-bin"') });
  expect(String(failure)).not.toContain("s3cret");
  expect(receiver.exports).toEqual([]);
});
