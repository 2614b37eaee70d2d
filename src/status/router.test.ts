import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLogger } from "../base/logger.ts";
import { createRouter, type Router, sendText } from "./router.ts";

/** On a unix socket the peer has no address, which is how an unknown caller looks. */
async function serveUnknownPeers(router: Router) {
  const folder = mkdtempSync(join(tmpdir(), "router-"));
  const socketPath = join(folder, "s");
  const server = createServer(router.handle);
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    ask: (method: string, path: string) =>
      new Promise<{ status: number; body: string }>((resolve, reject) => {
        const outgoing = request({ socketPath, method, path, agent: false }, (incoming) => {
          let body = "";
          incoming.on("data", (chunk) => {
            body += chunk;
          });
          incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, body }));
        });
        outgoing.on("error", reject);
        outgoing.end();
      }),
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

test("an unknown peer is refused before its method is looked at, and only where the rule applies", async () => {
  const router = createRouter(silentLogger);
  let calls = 0;
  const handler = (_request: unknown, response: Parameters<typeof sendText>[0]) => {
    calls++;
    sendText(response, 200, "OK");
  };
  router.route("POST", "/quit", handler, { loopbackOnly: true });
  router.route("*", "/open", handler);
  await using server = await serveUnknownPeers(router);
  const refusal = { status: 403, body: "Only requests from localhost are allowed\n" };
  expect(await server.ask("POST", "/quit")).toEqual(refusal);
  expect(await server.ask("GET", "/quit")).toEqual(refusal);
  expect(calls).toBe(0);
  expect(await server.ask("DELETE", "/open")).toEqual({ status: 200, body: "OK" });
});

test.each([
  { method: "GET", target: "http://pod:1/open?x", status: 200, body: "/open" },
  { method: "GET", target: "/%6fpen", status: 200, body: "/open" },
  { method: "GET", target: "/below/%C3%BC", status: 200, body: "/below/ü" },
  { method: "POST", target: "http://pod:1/qu%69t", status: 403, body: "Only requests from localhost are allowed\n" },
  { method: "GET", target: "/%zz", status: 400, body: "400 Bad Request\n" },
  { method: "GET", target: "*", status: 400, body: "400 Bad Request\n" },
  { method: "OPTIONS", target: "*", status: 200, body: "" },
  { method: "GET", target: "http://pod", status: 307, body: '<a href="/">Temporary Redirect</a>.\n\n' },
  { method: "GET", target: "/below?x", status: 307, body: '<a href="/below/?x">Temporary Redirect</a>.\n\n' },
  { method: "POST", target: "/below?x", status: 307, body: "" },
])("$method $target is $status", async ({ method, target, status, body }) => {
  const router = createRouter(silentLogger);
  router.route("POST", "/quit", () => undefined, { loopbackOnly: true });
  router.route("*", "/open", (_request, response, path) => sendText(response, 200, path));
  router.route("*", "/below/", (_request, response, path) => sendText(response, 200, path));
  await using server = await serveUnknownPeers(router);
  expect(await server.ask(method, target)).toEqual({ status, body });
});

test("a redirect's text cannot carry markup", async () => {
  await using server = await serveUnknownPeers(createRouter(silentLogger));
  const { status, body } = await server.ask("GET", '//<script>"&');
  expect(status).toBe(307);
  expect(body).toBe('<a href="/&lt;script&gt;&#34;&amp;">Temporary Redirect</a>.\n\n');
});
