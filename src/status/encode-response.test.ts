import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { fetchBytes } from "../../test/support/status/scrape.ts";
import { silentLogger } from "../base/logger.ts";
import { createReadiness } from "./readiness.ts";
import { sendText } from "./router.ts";
import { type StatusServerOptions, startStatusServer } from "./start-status-server.ts";

const BODY = "metrics and more metrics\n".repeat(100);

async function start(overrides: Partial<StatusServerOptions> = {}) {
  const server = await startStatusServer({
    port: 0,
    hosts: ["127.0.0.1"],
    readiness: createReadiness(silentLogger),
    actions: { drain: async () => undefined, quit: () => undefined },
    version: {},
    log: silentLogger,
    ...overrides,
  });
  server.route("*", "/page", (request, response) => {
    const type = request.headers["x-type"];
    if (typeof type === "string") response.setHeader("Content-Type", type);
    sendText(response, 200, request.headers["x-short"] === undefined ? BODY : "short");
  });
  return server;
}

test("a large body is packed for callers that take it, with its length", async () => {
  await using server = await start();
  const { headers, body } = await fetchBytes(server.port, "/page", { "accept-encoding": "gzip" });
  expect(headers).toMatchObject({
    "content-encoding": "gzip",
    vary: "Accept-Encoding",
    "content-length": String(body.length),
  });
  expect(gunzipSync(body).toString()).toBe(BODY);
});

test.each([
  { headers: {} },
  { headers: { "accept-encoding": "br" } },
  { headers: { "accept-encoding": "gzip", "x-short": "1" } },
  { headers: { "accept-encoding": "gzip", "x-type": "application/zip" } },
  { headers: { "accept-encoding": "gzip", "x-type": "video/mp4" } },
])("it is sent as it is with $headers", async ({ headers }) => {
  await using server = await start();
  const answer = await fetchBytes(server.port, "/page", headers as Record<string, string>);
  expect(answer.headers["content-encoding"]).toBeUndefined();
  expect(answer.headers.vary).toBe("Accept-Encoding");
});

test("generations that do not pack send it as it is, and say nothing of encodings", async () => {
  await using server = await start({ packs: false });
  const { headers, text } = await fetchBytes(server.port, "/page", { "accept-encoding": "gzip" });
  expect(text).toBe(BODY);
  expect(headers.vary).toBeUndefined();
});
