import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { fetchBytes } from "../../test/support/status/scrape.ts";
import { startTestStatusServer } from "../../test/support/status/server.ts";
import { createLog } from "../base/log/log.ts";
import { silentLogger } from "../base/logger.ts";
import { addDebugRoutes } from "./debug-routes.ts";
import { logLevelPage, registerProcessPages } from "./start-status.ts";
import { STATUS_LIMITS } from "./start-status-server.ts";

const FOREIGN: readonly Record<string, string>[] = [
  { Host: "rebound.example:15020" },
  { Origin: "http://evil.example" },
  { Origin: "null" },
  { "Sec-Fetch-Site": "cross-site" },
];
const ACTS = ["/quitquitquit", "/drain"];
const SHOWS = ["/debug/", "/debug/logging", "/debug/certs", "/debug/xdsz", "/debug/ndsz", "/debug/pprof/cmdline"];
const OPEN = ["/healthz/ready", "/version", "/metrics", "/app-health/a/livez"];

async function start() {
  const acted: string[] = [];
  const actions = { drain: async () => void acted.push("drain"), quit: () => void acted.push("quit") };
  const server = await startTestStatusServer(silentLogger, { actions });
  const log = createLog(() => 0);
  server.route("*", "/debug/logging", logLevelPage(log), { localOnly: true });
  registerProcessPages(server, { commandLine: [], profilingSocket: "" });
  addDebugRoutes(server, {
    dns: { describe: () => "{}" },
    secrets: { describeCertificates: () => [] },
    xds: { describeStreams: () => [] },
  });
  const ok = () => ({ status: 200, body: "" });
  server.route("*", "/metrics", ok, { loopbackOnly: true });
  server.route("*", "/app-health/", ok);
  return { server, acted, log, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

test.each(FOREIGN)("a page of another server, with %j, neither acts nor sees a debug page", async (headers) => {
  await using t = await start();
  const [[name = ""] = []] = Object.entries(headers);
  const says = expect.stringContaining(`${name} is `);
  for (const path of ACTS)
    expect(await fetchBytes(t.server.port, path, headers, "POST"), path).toMatchObject({ status: 403, text: says });
  for (const path of SHOWS)
    expect(await fetchBytes(t.server.port, path, headers), path).toMatchObject({ status: 403, text: says });
  const before = t.log.levels().get("dns");
  expect((await fetchBytes(t.server.port, "/debug/logging?level=dns:debug", headers, "POST")).status).toBe(403);
  expect([t.acted, t.log.levels().get("dns")]).toEqual([[], before]);
});

test.each([...FOREIGN, { Host: "10.0.0.7:15020" }])("probes and metrics are answered with %j", async (headers) => {
  await using t = await start();
  for (const path of OPEN) expect((await fetchBytes(t.server.port, path, headers)).status, path).toBe(200);
});

test.each([{ Host: "localhost:15020" }, { Host: "[::1]" }, { Origin: "http://127.0.0.1:1", Host: "127.0.0.1:1" }])(
  "a program on this machine that asks for %j is answered",
  async (headers) => {
    await using t = await start();
    for (const path of SHOWS)
      expect((await fetchBytes(t.server.port, path, headers as Record<string, string>)).status, path).toBe(200);
  },
);

test.each([
  "",
  "GET /healthz/ready HTTP/1.1\r\nHo",
  "POST /drain HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx",
])("a request of which only %j comes is cut off", async (bytes) => {
  await using server = await startTestStatusServer(silentLogger, { limits: { headersMs: 100, requestMs: 100 } });
  const socket = connect(server.port, "127.0.0.1").on("error", () => undefined);
  socket.resume().write(bytes);
  await once(socket, "close");
  expect((await fetchBytes(server.port, "/healthz/ready")).status).toBe(200);
});

test("the limits are in force without a word of the caller", () => {
  const { headersMs, requestMs, idleMs, keepAliveMs, maxConnections } = STATUS_LIMITS;
  expect([headersMs, requestMs]).toEqual([10_000, 10_000]);
  // Envoy closes its own idle connections after an hour; the server must not be first.
  expect(keepAliveMs).toBeGreaterThan(3_600_000);
  expect(idleMs).toBeGreaterThan(0);
  expect(maxConnections).toBeGreaterThan(100);
});
