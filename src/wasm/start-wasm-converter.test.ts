import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { extensionResponse, remoteExtension } from "../../test/support/wasm/resources.ts";
import { silentLogger } from "../base/logger.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { FALLBACK_RULES } from "./core/generations.ts";
import { declareWasmMetrics, startWasmConverter } from "./index.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "wasm-start-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const start = (folder: string, purgeIntervalMs = 0) =>
  startWasmConverter({
    directory: folder,
    insecureRegistries: [],
    moduleExpiryMs: 1000,
    purgeIntervalMs,
    requestTimeoutMs: 1000,
    maxRetries: 1,
    maxModuleBytes: 1000,
    blockedCidrs: [],
    rules: FALLBACK_RULES.master,
    metrics: declareWasmMetrics(new MetricRegistry()),
    log: silentLogger,
  });

test("modules that an earlier run left expire although no filter ever comes", async () => {
  const folder = join(directory, "a".repeat(64));
  mkdirSync(folder);
  writeFileSync(join(folder, `${"b".repeat(64)}.wasm`), "old");
  utimesSync(join(folder, `${"b".repeat(64)}.wasm`), 1, 1);
  await using _converter = await start(directory, 10);
  await expect.poll(() => readdirSync(directory)).toEqual([]);
});

test("starting and stopping without work leaves no trace; stopping twice is stopping once", async () => {
  const folder = join(directory, "missing");
  const converter = await start(folder);
  await Promise.all([converter.stop(), converter.stop()]);
  expect(existsSync(folder)).toBe(false);
});

test("a stopped converter refuses instead of fetching", async () => {
  const converter = await start(directory);
  await converter.stop();
  const message = extensionResponse("sotw", [remoteExtension({ name: "e", url: "http://127.0.0.1:1/" })]);
  const result = await converter.convert({ kind: "sotw", message }, new AbortController().signal);
  expect(result).toEqual({ refusal: "the agent is stopping" });
});

test("a stream that ended waits for nothing", async () => {
  await using converter = await start(directory);
  const message = extensionResponse("delta", [remoteExtension({ name: "e", url: "http://127.0.0.1:1/" })]);
  const result = await converter.convert({ kind: "delta", message }, AbortSignal.abort());
  expect(result).toEqual({ refusal: "the stream has ended" });
});
