import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { fetchBytes } from "../../../test/support/status/scrape.ts";
import { silentLogger } from "../../base/logger.ts";
import { chooseEncoding } from "./answer-exchange.ts";
import { startHttpServer } from "./start-http-server.ts";

test.each([
  [undefined, undefined],
  ["", undefined],
  ["gzip", "gzip"],
  ["zstd", "zstd"],
  ["GZip", "gzip"],
  ["gzip, zstd", "zstd"],
  ["zstd, gzip", "zstd"],
  ["deflate, gzip;q=1.0, zstd;q=0.5", "gzip"],
  ["gzip;q=0.5, identity;q=1", "gzip"],
  ["br, lz4", undefined],
  ["*", undefined],
  ["x-gzip", undefined],
  ["gzip;q=0", undefined],
  ["gzip;q=abc", undefined],
  ["gzip;q=abc, zstd;q=0.1", "zstd"],
  ["gzip; q = 0.2 , zstd;q=.1", "gzip"],
])("%s gives %s", (header, want) => {
  expect(chooseEncoding(header, ["zstd", "gzip"])).toBe(want);
});

test("without zstd on this side gzip has to do", () => {
  expect(chooseEncoding("zstd, gzip;q=0.1", ["gzip"])).toBe("gzip");
});

const BODY = "metrics and more metrics\n".repeat(100);

function start(encodes = true) {
  return startHttpServer({
    listen: [{ host: "127.0.0.1", port: 0 }],
    handler: (request) => {
      const { "x-type": contentType, "x-short": isShort, "x-stream": isStreamed } = request.headers;
      const head = { status: 200, ...(contentType !== undefined && { contentType }) };
      if (isStreamed === undefined) return { ...head, body: isShort === undefined ? BODY : "short" };
      const output = request.stream(head);
      output.write(BODY.slice(0, 100));
      output.end(BODY.slice(100));
      return undefined;
    },
    encodes,
    log: silentLogger,
  });
}

test("a large body is compressed for callers that take it, with its length", async () => {
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

test("a server that does not encode sends it as it is, without a word on encodings", async () => {
  await using server = await start(false);
  const { headers, text } = await fetchBytes(server.port, "/page", { "accept-encoding": "gzip" });
  expect(text).toBe(BODY);
  expect(headers.vary).toBeUndefined();
});

test("a body that is written piece by piece is compressed as well", async () => {
  await using server = await start();
  const { headers, body } = await fetchBytes(server.port, "/page", { "accept-encoding": "gzip", "x-stream": "1" });
  expect(headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept-Encoding" });
  expect(gunzipSync(body).toString()).toBe(BODY);
  const { text } = await fetchBytes(server.port, "/page", { "x-stream": "1" });
  expect(text).toBe(BODY);
});
