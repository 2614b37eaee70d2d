import { errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
import { openHttp } from "../../net/http-client/http-request.ts";
import { FamilyReader } from "../../protocol/prometheus/family-reader.ts";
import type { ScrapeMetrics } from "../metrics.ts";
import { PointCollector } from "./collect-points.ts";
import { OtlpError } from "./export-answer.ts";
import type { OtlpExporter, OtlpSettings } from "./exporter.ts";
import { createHttpExporter } from "./http-exporter.ts";
import { encodeExport } from "./metric-writer.ts";
import { nextExportMs } from "./next-export.ts";

export interface OtlpPushOptions extends OtlpSettings {
  /** Where the merged metrics are served. */
  readonly source: string;
  readonly metrics: ScrapeMetrics;
  readonly log: Logger;
}

/** Size of a request, give or take one metric. Nothing else is held: what could not be sent is in the next export, which has all values anew. */
const MAX_REQUEST_BYTES = 512 * 1024;
const MAX_DOCUMENT_MS = 60_000;

/** Sends the merged metrics to a collector now and then (OTLP over HTTP or gRPC), until it is stopped. */
export function startOtlpPush(options: OtlpPushOptions): Handle {
  const stopped = new AbortController();
  const running = pushUntilStopped(options, stopped.signal);
  return toHandle({
    ended: running,
    stop: async () => {
      stopped.abort();
      await running;
    },
  });
}

async function pushUntilStopped(options: OtlpPushOptions, signal: AbortSignal): Promise<void> {
  const { intervalMs, log, endpoint, metrics } = options;
  const startNanos = nanosNow();
  let waitMs = intervalMs;
  let failures = 0;
  let lastProblem = "";
  for (;;) {
    await wait(waitMs, signal);
    if (signal.aborted) return;
    try {
      await exportOnce(options, startNanos, signal);
      metrics.exports.inc(["ok"]);
      if (failures > 0) log.info(`metrics go to ${endpoint} again, after ${failures} failed exports`);
      failures = 0;
      lastProblem = "";
      waitMs = intervalMs;
    } catch (thrown) {
      if (signal.aborted) return;
      metrics.exports.inc(["failed"]);
      failures += 1;
      waitMs = nextExportMs(thrown, failures, intervalMs);
      const problem = errorMessage(thrown);
      const isRetried = !(thrown instanceof OtlpError) || thrown.code === "retryable";
      const next = isRetried ? "it is tried again" : "it is not retried before the next export is due";
      // A collector that is away for a night is one line, not a thousand.
      if (problem !== lastProblem) log.warn(`failed to export metrics to ${endpoint}: ${problem}; ${next}`);
      lastProblem = problem;
    }
  }
}

function nanosNow(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

/** One document, sent in pieces as it is read. */
async function exportOnce(options: OtlpPushOptions, startNanos: bigint, signal: AbortSignal): Promise<void> {
  await using exporter = await createExporter(options);
  let waiting: Buffer[] = [];
  let bytes = 0;
  let partial: OtlpError | undefined;
  const send = async () => {
    if (waiting.length === 0) return;
    const body = encodeExport(options.resource, "pilot-agent", waiting);
    [waiting, bytes] = [[], 0];
    try {
      await exporter.send(body, signal);
    } catch (thrown) {
      if (!(thrown instanceof OtlpError) || thrown.code !== "partial") throw thrown;
      partial ??= thrown; // of this piece; the others are still wanted
    }
  };
  const points = new PointCollector({ startNanos, nowNanos: nanosNow() }, (metric) => {
    waiting.push(metric);
    bytes += metric.length;
  });
  const reader = new FamilyReader(points, { from: "text", to: "text", isTrusted: false });
  const { status, body } = await openHttp({
    url: options.source,
    headers: { accept: "text/plain;version=0.0.4" },
    timeoutMs: MAX_DOCUMENT_MS,
    signal,
  });
  try {
    if (status !== 200) throw new OtlpError("retryable", `the agent's own metrics answer ${status}`);
    for await (const chunk of body) {
      reader.push(chunk as Buffer);
      if (bytes >= MAX_REQUEST_BYTES) await send();
    }
  } finally {
    body.destroy();
  }
  reader.end(true);
  points.end();
  await send();
  if (partial !== undefined) throw partial;
}

/** What gRPC needs is loaded by those who use it. */
async function createExporter(options: OtlpPushOptions): Promise<OtlpExporter> {
  if (options.protocol === "http/protobuf") return createHttpExporter(options);
  return (await import("./grpc-exporter.ts")).createGrpcExporter(options);
}
