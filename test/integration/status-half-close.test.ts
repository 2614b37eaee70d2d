import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { createReadiness } from "../../src/base/readiness.ts";
import { wait } from "../../src/base/wait.ts";
import { readAppProbers } from "../../src/status/core/app-probers.ts";
import { STATUS_RULES } from "../../src/status/core/generations.ts";
import { createAppProbeHandler } from "../../src/status/probes/app-probe-handler.ts";
import type { StatusServer } from "../../src/status/start-status-server.ts";
import { recordingLogger } from "../support/envoy/life.ts";
import { askAndClose } from "../support/net/ask-and-close.ts";
import { startScrape } from "../support/status/scrape.ts";
import { startTestStatusServer } from "../support/status/server.ts";

const READYZ = "/app-health/app/readyz";
/** Long enough that the client's FIN is here first, on a busy machine too. */
const SLOW_MS = 150;

const get = (path: string, version = "1.1") => `GET ${path} HTTP/${version}\r\nHost: h\r\n\r\n`;

/** The status server with a probe of an application that takes its time. */
async function startSlowProbe() {
  await using opened = new CloseStack();
  const app = createHttpServer((_request, response) => void setTimeout(() => response.end("slowly"), SLOW_MS));
  await new Promise<void>((ready) => app.listen(0, "127.0.0.1", ready));
  opened.defer(() => new Promise<void>((closed) => void app.close(() => closed())));
  const log = recordingLogger();
  const server = opened.add(await startTestStatusServer(log));
  const { port } = app.address() as { port: number };
  server.route("*", "/app-health/", probeHandler(port));
  const owned = opened.move();
  return { port: server.port, [Symbol.asyncDispose]: () => owned.close() };
}

function probeHandler(port: number) {
  return createAppProbeHandler({
    probers: readAppProbers({ [READYZ]: { httpGet: { port } } }, STATUS_RULES.master.probers),
    target: { host: "127.0.0.1", localAddress: "127.0.0.6" },
    statusPort: 15020,
    http2: true,
    relaysBody: true,
    isLocal: false,
    log: recordingLogger(),
  });
}

describe.each(["1.0", "1.1"])("a client of HTTP/%s that closes its half at once gets its answer from", (version) => {
  test("an application probe", async () => {
    await using t = await startSlowProbe();
    const answer = await askAndClose(t.port, get(READYZ, version));
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\nslowly$/s);
  });

  test("merged metrics", async () => {
    await using t = await startScrape({
      envoy: (_request, response) =>
        void setTimeout(() => response.end("# TYPE envoy_up gauge\nenvoy_up 1\n"), SLOW_MS),
    });
    const answer = await askAndClose(t.port, get("/metrics", version));
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toContain("envoy_up 1\n");
    expect(t.own("istio_agent_scrape_failures_total")).toBeUndefined();
  });

  test("readiness that has to ask first", async () => {
    const log = recordingLogger();
    const readiness = createReadiness(log);
    readiness.addCheck("envoy", async () => {
      await wait(SLOW_MS, new AbortController().signal);
      return "not yet";
    });
    await using server = await startTestStatusServer(log, { readiness });
    const answer = await askAndClose(server.port, get("/healthz/ready", version));
    expect(answer).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n.*\r\n\r\nenvoy: not yet\n$/s);
  });
});

test("several requests before the close are all answered, in their order, and then the connection ends", async () => {
  await using t = await startSlowProbe();
  const answer = await askAndClose(t.port, `${get("/version")}${get(READYZ)}${get("/nothing")}`);
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 404"]);
});

test("a request that the close cuts short is a bad one", async () => {
  await using t = await startSlowProbe();
  expect(await askAndClose(t.port, "GET /version HTTP/1.1\r\nHos")).toMatch(/^HTTP\/1\.1 400 /);
});

describe("a client that closes its connection for good", () => {
  /** An application that never answers, and how many wait for it. */
  async function startSilent(halfClosedMs: number) {
    await using opened = new CloseStack();
    const open = new Set<unknown>();
    const silent = createServer((socket) => {
      open.add(socket);
      socket.resume().on("close", () => open.delete(socket));
      socket.on("error", () => undefined);
    });
    await new Promise<void>((ready) => silent.listen(0, "127.0.0.1", ready));
    opened.defer(() => new Promise<void>((closed) => void silent.close(() => closed())));
    const server: StatusServer = opened.add(
      await startTestStatusServer(recordingLogger(), { limits: { halfClosedMs } }),
    );
    server.route("*", "/app-health/", probeHandler((silent.address() as { port: number }).port));
    const owned = opened.move();
    return { port: server.port, open, [Symbol.asyncDispose]: () => owned.close() };
  }

  test("takes its endless probe along when its time is up", async () => {
    await using t = await startSilent(100);
    const kubelet = connect(t.port, "127.0.0.1");
    kubelet.write(get(READYZ));
    await expect.poll(() => t.open.size).toBe(1);
    kubelet.destroy();
    await expect.poll(() => t.open.size).toBe(0);
  });

  test("by a reset takes it along at once", async () => {
    await using t = await startSilent(600_000);
    const kubelet = connect(t.port, "127.0.0.1");
    kubelet.write(get(READYZ));
    await expect.poll(() => t.open.size).toBe(1);
    kubelet.resetAndDestroy();
    await expect.poll(() => t.open.size).toBe(0);
  });
});
