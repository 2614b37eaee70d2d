import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { recordLog } from "../../test/support/log/recording-log.ts";
import "../../test/support/no-open-handles.ts";
import { type TemporaryFolder, temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { until } from "../../test/support/wait/until.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { declareSdsMetrics } from "./metrics.ts";
import { probeSocket } from "./probe-socket.ts";
import { startSdsInBackground } from "./start-sds-in-background.ts";

let directory: TemporaryFolder;
beforeEach(async () => {
  directory = temporaryFolder();
});
afterEach(() => directory[Symbol.asyncDispose]());

const source = { get: () => Promise.reject(new Error("nobody asks")), onChange: () => () => undefined };
/** A file where the socket's directory would be. */
const obstacle = () => join(directory.path, "uds");
const path = () => join(obstacle(), "socket");

function connect(signal: AbortSignal, bindRetryMs: readonly number[]) {
  const log = recordLog();
  const metrics = declareSdsMetrics(new MetricRegistry());
  return { log, connecting: startSdsInBackground({ path: path(), source, metrics, log, signal, bindRetryMs }) };
}

test("a socket that can be bound is there when the start goes on, and gone after the stop", async () => {
  const server = await connect(new AbortController().signal, [1]).connecting;
  expect(await probeSocket(path())).toBe("alive");
  await server.stop();
  expect(existsSync(path())).toBe(false);
});

test("a socket that cannot be bound does not hold up the start, and is bound as soon as it can be", async () => {
  await writeFile(obstacle(), "");
  const retries = Array.from({ length: 100 }, () => 50);
  const server = await connect(new AbortController().signal, retries).connecting;
  await rm(obstacle());
  await until("the socket is there", () => existsSync(path()));
  expect(await probeSocket(path())).toBe("alive");
  await server.stop();
});

test("one that never can be is reported once and ends nothing", async () => {
  await writeFile(obstacle(), "");
  const { log, connecting } = connect(new AbortController().signal, [1, 1, 1, 1, 1]);
  const server = await connecting;
  await until("it is given up", () => log.texts().includes("warn SDS grpc server could not be started"));
  expect(log.texts().filter((line) => line.includes("failed to set up UDS"))).toHaveLength(5);
  await server.stop();
});

test.each(["the start", "the server"] as const)("the end of %s ends the tries", async (what) => {
  await writeFile(obstacle(), "");
  const ending = new AbortController();
  const server = await connect(ending.signal, [3_600_000, 1]).connecting;
  if (what === "the start") ending.abort();
  await server.stop();
  expect(existsSync(path())).toBe(false);
});
