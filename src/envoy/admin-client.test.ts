import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { expect, test } from "vitest";
import { freePorts } from "../../test/support/envoy/life.ts";
import { createAdminClient, drainPath } from "./admin-client.ts";

async function serve(listener: RequestListener, host: "127.0.0.1" | "::1" = "127.0.0.1") {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    admin: createAdminClient({ host, port }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test.each([
  { inboundOnly: true, graceful: true, path: "/drain_listeners?inboundonly&graceful" },
  { inboundOnly: false, graceful: true, path: "/drain_listeners?graceful" },
  { inboundOnly: true, graceful: true, skipExit: true, path: "/drain_listeners?inboundonly&graceful&skip_exit" },
  { inboundOnly: true, graceful: false, path: "/drain_listeners?inboundonly" },
  { inboundOnly: false, graceful: false, path: "/drain_listeners" },
])("a drain is asked for as $path", ({ path, ...options }) => {
  expect(drainPath(options)).toBe(path);
});

test("a drain is an empty POST whose status does not matter", async () => {
  const seen: unknown[] = [];
  await using server = await serve((request, response) => {
    seen.push([request.method, request.url, request.headers["content-length"]]);
    response.writeHead(500).end("no");
  });
  expect(await server.admin.drainListeners({ inboundOnly: true, graceful: true })).toBe("no");
  expect(seen).toEqual([["POST", "/drain_listeners?inboundonly&graceful", "0"]]);
});

test("filters go out as they are written", async () => {
  let url: string | undefined;
  await using server = await serve((request, response) => {
    url = request.url;
    response.end("a: 1\n");
  });
  expect(await server.admin.stats("usedonly&filter=^(a\\.b|c)$")).toBe("a: 1\n");
  expect(url).toBe("/stats?usedonly&filter=^(a\\.b|c)$");
});

test("IPv6 loopback is spoken to by address", async () => {
  await using server = await serve(
    (_request, response) => void response.writeHead(503).end("PRE_INITIALIZING\n"),
    "::1",
  );
  expect(await server.admin.ready()).toEqual({ isLive: false, state: "PRE_INITIALIZING" });
  expect(server.admin.authority).toBe(`[::1]:${server.port}`);
});

test("server info tells state, version and epoch; text that is not JSON is a coded error", async () => {
  const answers = ['{"state":"LIVE","version":"v","command_line_options":{"restart_epoch":3}}', "{}", "<html>"];
  await using server = await serve((_request, response) => void response.end(answers.shift()));
  expect(await server.admin.serverInfo()).toEqual({ state: "LIVE", version: "v", restartEpoch: 3 });
  expect(await server.admin.serverInfo()).toEqual({ state: "UNKNOWN", version: "", restartEpoch: 0 });
  await expect(server.admin.serverInfo()).rejects.toMatchObject({ code: "bad-answer" });
});

test("a dump takes a query, quitting takes a POST", async () => {
  const seen: unknown[] = [];
  await using server = await serve((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    response.end("{}");
  });
  await server.admin.configDump();
  await server.admin.configDump("mask=bootstrap");
  await server.admin.quit();
  expect(seen).toEqual(["GET /config_dump", "GET /config_dump?mask=bootstrap", "POST /quitquitquit"]);
});

test("another status than 200 is a coded error with the number", async () => {
  await using server = await serve((_request, response) => void response.writeHead(500).end());
  await expect(server.admin.stats()).rejects.toMatchObject({
    code: "unexpected-status",
    message: "unexpected status 500",
  });
});

test("a port no one listens on reads as the reference words it", async () => {
  const [port = 0] = await freePorts(1);
  const admin = createAdminClient({ host: "127.0.0.1", port });
  await expect(admin.drainListeners({ inboundOnly: true, graceful: true })).rejects.toMatchObject({
    code: "unreachable",
    message: `Post "http://127.0.0.1:${port}/drain_listeners?inboundonly&graceful": dial tcp 127.0.0.1:${port}: connect: connection refused`,
  });
});

test.each([
  { what: "says nothing", answer: undefined },
  { what: "stops in the middle of its answer", answer: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf" },
])("an admin that $what runs into the time limit", async ({ answer }) => {
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined).resume();
    if (answer !== undefined) socket.write(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const admin = createAdminClient({ host: "127.0.0.1", port });
  await expect(admin.fetch("GET", "/x", { timeoutMs: 50 })).rejects.toMatchObject({
    code: "timeout",
    message: `Get "http://127.0.0.1:${port}/x": no answer within 50 ms`,
  });
  await new Promise((resolve) => server.close(resolve));
});

test("an answer beyond the size limit is cut off", async () => {
  await using server = await serve((_request, response) => void response.end("x".repeat(2_000)));
  await expect(server.admin.fetch("GET", "/", { maxBytes: 1_000 })).rejects.toMatchObject({ code: "too-large" });
  expect((await server.admin.fetch("GET", "/", { maxBytes: 2_000 })).body).toHaveLength(2_000);
});

test("a caller may give up earlier", async () => {
  await using server = await serve(() => undefined);
  await expect(server.admin.fetch("GET", "/", { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
    code: "unreachable",
  });
});
