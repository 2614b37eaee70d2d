import { request } from "node:http";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { recordingLogger } from "../../test/support/envoy/life.ts";
import { until } from "../../test/support/wait/until.ts";
import { createReadiness } from "../base/readiness.ts";
import { type StatusServerOptions, startStatusServer } from "./start-status-server.ts";

function setUp(overrides: Partial<StatusServerOptions> = {}) {
  const log = recordingLogger();
  const readiness = createReadiness(log);
  const events: string[] = [];
  const actions = { drain: async () => void events.push("drain"), quit: () => void events.push("quit") };
  const version = { version: "1.2.3", revision: "abc" };
  const options: StatusServerOptions = {
    port: 0,
    hosts: ["127.0.0.1"],
    readiness,
    actions,
    version,
    log,
    ...overrides,
  };
  return { log, readiness, events, options };
}

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

function ask(port: number, method: string, path: string, host = "127.0.0.1"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host, port, method, path, agent: false }, (incoming) => {
      let body = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (text: string) => {
        body += text;
      });
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body }));
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

test("readiness is 200 without a body, or 503 with every reason", async () => {
  const t = setUp();
  await using server = await startStatusServer(t.options);
  const ready = await ask(server.port, "GET", "/healthz/ready");
  expect(ready).toMatchObject({ status: 200, body: "", headers: { "content-length": "0" } });
  expect(ready.headers["content-type"]).toBeUndefined();
  const reason = t.readiness.take("draining", "received signal: terminated");
  t.readiness.take("dns");
  expect(await ask(server.port, "GET", "/healthz/ready")).toMatchObject({
    status: 503,
    body: "draining: received signal: terminated\ndns\n",
  });
  expect(await ask(server.port, "HEAD", "/healthz/ready")).toMatchObject({ status: 503, body: "" });
  reason.release();
  expect((await ask(server.port, "POST", "/healthz/ready")).body).toBe("dns\n");
});

test.each([
  { path: "/quitquitquit", event: "quit", line: "info handling /quitquitquit, notifying pilot-agent to exit" },
  { path: "/drain", event: "drain", line: "info handling /drain, starting drain" },
])("POST $path answers OK first and then acts", async ({ path, event, line }) => {
  const t = setUp();
  await using server = await startStatusServer(t.options);
  const answer = await ask(server.port, "POST", path);
  expect(answer).toMatchObject({ status: 200, body: "OK", headers: { "content-type": "text/plain; charset=utf-8" } });
  await until("the action", () => t.events.length > 0);
  expect(t.events).toEqual([event]);
  expect(t.log.texts()).toContain(line);
});

test.each(["GET", "HEAD", "PUT", "DELETE"])("%s may neither drain nor quit", async (method) => {
  const t = setUp();
  await using server = await startStatusServer(t.options);
  for (const path of ["/quitquitquit", "/drain"]) {
    const answer = await ask(server.port, method, path);
    expect(answer).toMatchObject({ status: 405, body: method === "HEAD" ? "" : "Method Not Allowed\n" });
    expect(answer.headers).toMatchObject({
      "content-type": "text/plain; charset=utf-8",
      "x-content-type-options": "nosniff",
    });
  }
  expect(t.events).toEqual([]);
});

test("callers of both families of one socket are on this machine", async () => {
  const t = setUp();
  const { hosts: _both, ...options } = t.options;
  await using server = await startStatusServer(options);
  expect((await ask(server.port, "POST", "/drain", "127.0.0.1")).status).toBe(200);
  expect((await ask(server.port, "POST", "/drain", "::1")).status).toBe(200);
});

test("the version is JSON", async () => {
  const t = setUp();
  await using server = await startStatusServer(t.options);
  const answer = await ask(server.port, "GET", "/version");
  expect(JSON.parse(answer.body)).toEqual({ version: "1.2.3", revision: "abc" });
  expect((await ask(server.port, "POST", "/version")).status).toBe(405);
});

test("unknown paths are 404, unclean ones lead to the clean one with their query", async () => {
  const t = setUp();
  await using server = await startStatusServer(t.options);
  expect(await ask(server.port, "GET", "/nothing")).toMatchObject({ status: 404, body: "404 page not found\n" });
  const answer = await ask(server.port, "GET", "//x/../version?a=b");
  expect(answer).toMatchObject({
    status: 307,
    body: '<a href="/version?a=b">Temporary Redirect</a>.\n\n',
    headers: { location: "/version?a=b", "content-type": "text/html; charset=utf-8" },
  });
});

test("later parts register exact paths and whole subtrees", async () => {
  const t = setUp();
  await using server = await startStatusServer(t.options);
  server.route("GET", "/metrics", () => ({ status: 200, body: "m" }));
  server.route("*", "/app-health/", ({ path }) => ({ status: 200, body: path }));
  server.route("GET", "/app-health/special", () => ({ status: 200, body: "special" }));
  expect((await ask(server.port, "GET", "/metrics?x")).body).toBe("m");
  expect((await ask(server.port, "PUT", "/app-health/c/livez")).body).toBe("/app-health/c/livez");
  expect((await ask(server.port, "GET", "/app-health/special")).body).toBe("special");
  expect((await ask(server.port, "GET", "/app-health")).headers.location).toBe("/app-health/");
  expect(() => server.route("GET", "/metrics", () => undefined)).toThrow("declared twice");
});

test("a handler that fails is a 500 and a log line, not the end", async () => {
  const t = setUp();
  await using server = await startStatusServer(t.options);
  server.route("GET", "/broken", () => Promise.reject(new Error("no luck")));
  expect(await ask(server.port, "GET", "/broken")).toMatchObject({ status: 500, body: "Internal Server Error\n" });
  expect(t.log.lines.at(-1)).toMatchObject({ level: "error", fields: { path: "/broken", error: "no luck" } });
  expect((await ask(server.port, "GET", "/version")).status).toBe(200);
});

test("a taken port fails the start with a clear error and leaves the other addresses free", async () => {
  const t = setUp();
  const squatter = createServer();
  await new Promise<void>((resolve) => squatter.listen(0, "127.0.0.2", resolve));
  const { port } = squatter.address() as { port: number };
  const hosts = ["127.0.0.1", "127.0.0.2"];
  await expect(startStatusServer({ ...t.options, port, hosts })).rejects.toMatchObject({
    code: "address-in-use",
    message: `Error listening on status port: listen tcp 127.0.0.2:${port}: bind: address already in use (statusPort of the proxy configuration)`,
  });
  await using again = await startStatusServer({ ...t.options, port, hosts: ["127.0.0.1"] });
  expect(again.port).toBe(port);
  squatter.close();
});

test("an address that is not this machine's is another clear error", async () => {
  const t = setUp();
  await expect(startStatusServer({ ...t.options, hosts: ["203.0.113.9"] })).rejects.toMatchObject({
    code: "cannot-listen",
  });
});

test("stop closes open connections, frees the port and may be called twice", async () => {
  const t = setUp();
  const server = await startStatusServer(t.options);
  await ask(server.port, "GET", "/version");
  await Promise.all([server.stop(), server.stop()]);
  await using again = await startStatusServer({ ...t.options, port: server.port });
  expect(again.port).toBe(server.port);
  expect(t.log.texts().filter((line) => line === "info Status server has successfully terminated")).toHaveLength(1);
});
