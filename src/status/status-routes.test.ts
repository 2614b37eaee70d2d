import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLogger } from "../base/logger.ts";
import { startHttpServer } from "../net/http-server/start-http-server.ts";
import { createStatusRoutes, readStatusPath, type StatusRoutes } from "./status-routes.ts";

/** On a unix socket the peer has no address, which is how an unknown caller looks. */
async function serveUnknownPeers({ handle }: StatusRoutes) {
  const folder = mkdtempSync(join(tmpdir(), "status-routes-"));
  const socketPath = join(folder, "s");
  const listen = [{ path: socketPath }];
  const server = await startHttpServer({ listen, handler: handle, readPath: readStatusPath, log: silentLogger });
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
      await server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

test("an unknown peer is refused before its method is looked at, and only where the rule applies", async () => {
  const routes = createStatusRoutes();
  let calls = 0;
  const handler = () => {
    calls++;
    return { status: 200, body: "OK" };
  };
  routes.route("POST", "/quit", handler, { loopbackOnly: true });
  routes.route("*", "/open", handler);
  await using server = await serveUnknownPeers(routes);
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
  const routes = createStatusRoutes();
  routes.route("POST", "/quit", () => undefined, { loopbackOnly: true });
  routes.route("*", "/open", ({ path }) => ({ status: 200, body: path }));
  routes.route("*", "/below/", ({ path }) => ({ status: 200, body: path }));
  await using server = await serveUnknownPeers(routes);
  expect(await server.ask(method, target)).toEqual({ status, body });
});

test("a redirect's text cannot carry markup", async () => {
  await using server = await serveUnknownPeers(createStatusRoutes());
  const { status, body } = await server.ask("GET", '//<script>"&');
  expect(status).toBe(307);
  expect(body).toBe('<a href="/&lt;script&gt;&#34;&amp;">Temporary Redirect</a>.\n\n');
});
