import { expect, test } from "vitest";
import { startHttpServer } from "../../test/support/net/http-server.ts";
import { metadataText } from "./metadata-text.ts";

test("a text is the body of a 200 answer and of no other", async () => {
  await using server = await startHttpServer((request, response) => {
    response.writeHead(request.url === "/ok" ? 200 : 404).end("body");
  });
  const base = `http://127.0.0.1:${server.port}`;
  expect(await metadataText(`${base}/ok`, { timeoutMs: 30_000 })).toBe("body");
  await expect(metadataText(`${base}/no`, { timeoutMs: 30_000 })).rejects.toMatchObject({ code: "unexpected-status" });
});
