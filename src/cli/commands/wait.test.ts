import { expect, test } from "vitest";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
import { waitUntilReady } from "./wait.ts";

const options = (url: string) => ({
  url,
  timeoutMs: 30_000,
  requestTimeoutMs: 30_000,
  periodMs: 5,
  onNotReady: () => undefined,
});

test("it asks until the answer is 200, and tells each refusal", async () => {
  let asked = 0;
  const refusals: string[] = [];
  await using server = await startHttpServer((_request, response) => {
    asked += 1;
    response.writeHead(asked < 3 ? 503 : 200).end();
  });
  const outcome = await waitUntilReady({ ...options(server.url), onNotReady: (reason) => refusals.push(reason) });
  expect(outcome).toBe("ready");
  expect(refusals).toEqual(["HTTP status code 503", "HTTP status code 503"]);
});

test("the limit's message carries the last refusal", async () => {
  await using server = await startHttpServer((_request, response) => response.writeHead(503).end());
  expect(await waitUntilReady({ ...options(server.url), timeoutMs: 1000 })).toBe(
    "timeout waiting for Envoy proxy to become ready. Last error: HTTP status code 503",
  );
});

test.each([0, -1000])("a limit of %d ms ends at once without asking", async (timeoutMs) => {
  expect(await waitUntilReady({ ...options("http://localhost:1/"), timeoutMs })).toBe(
    "timeout waiting for Envoy proxy to become ready. Last error: <nil>",
  );
});

test("the overall limit does not cut a request that is under way", async () => {
  await using server = await startHttpServer((_request, response) => {
    setTimeout(() => response.end(), 1050).unref();
  });
  expect(await waitUntilReady({ ...options(server.url), timeoutMs: 1000 })).toBe("ready");
});
