import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { destinationRule, httpService, sidecar, virtualService } from "../support/discovery/routes.ts";
import { staticSidecar } from "../support/discovery/static-sidecar.ts";
import { createWorkFolder } from "../support/envoy/life.ts";
import { type RunningEnvoy, runEnvoy } from "../support/envoy/run-envoy.ts";
import { viewOfCase } from "../support/mesh-model/view-of-case.ts";
import { has, needs } from "../support/needs.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { until } from "../support/wait/until.ts";

/** One real sidecar without interception in front of three backends; what it does with requests is what the rules say. */
const backends: Server[] = [];
const mirrored: string[] = [];
let work: ReturnType<typeof createWorkFolder> | undefined;
let envoy: RunningEnvoy | undefined;
let port = 0;

beforeAll(async () => {
  if (!has("envoy")) return;
  const [listen = 0] = await freePorts(1);
  port = listen;
  work = createWorkFolder();
  const [v1, v2, other] = [await backend("v1"), await backend("v2"), await backend("other")];
  const http = (target: number, extra: object = {}) => ({
    ports: [{ number: port, name: "http", protocol: "HTTP" }],
    endpoints: [{ address: "127.0.0.1", ports: { http: target }, labels: { version: "v1" } }],
    ...extra,
  });
  const v2Endpoint = { address: "127.0.0.1", ports: { http: v2 }, labels: { version: "v2" } };
  const [first] = http(v1).endpoints;
  const bound = (bind: string, host: string) => ({
    port: { number: port, protocol: "HTTP", name: "http" },
    bind,
    captureMode: "NONE",
    hosts: [`./${host}.default.svc.cluster.local`],
  });
  const objects = [
    httpService("web", http(v1, { endpoints: [first, v2Endpoint] })),
    httpService("other", http(other)),
    destinationRule("web", { subsets: ["v1", "v2"].map((version) => ({ name: version, labels: { version } })) }),
    virtualService("web", { http: RULES }),
    sidecar("s", {
      egress: [bound("127.0.0.21", "web"), bound("127.0.0.22", "other"), { hosts: ["./*"], captureMode: "NONE" }],
    }),
    {
      apiVersion: "security.istio.io/v1",
      kind: "PeerAuthentication",
      metadata: { name: "off", namespace: "default" },
      spec: { mtls: { mode: "DISABLE" } },
    },
  ];
  const view = viewOfCase(objects.map((object) => JSON.stringify(object)).join("\n---\n"), undefined, {
    id: "sidecar~10.10.9.9~client.default~default.svc.cluster.local",
    metadata: { NAMESPACE: "default", INTERCEPTION_MODE: "NONE", LABELS: { app: "client" } },
  });
  const running = await runEnvoy(staticSidecar(view, work.folder));
  envoy = running;
  await until("the sidecar is ready", () => running.isReady());
});

afterAll(async () => {
  await envoy?.[Symbol.asyncDispose]();
  for (const server of backends) server.closeAllConnections();
  await Promise.all(backends.map((server) => new Promise((resolve) => server.close(resolve))));
  work?.[Symbol.dispose]();
});

beforeEach(needs("envoy"));

const to = (subset: string, extra: object = {}) => ({ destination: { host: "web", subset }, ...extra });
const at = (prefix: string, entry: object, match: object = {}) => ({
  match: [{ uri: { prefix }, ...match }],
  ...entry,
});

const RULES = [
  at("/header", { route: [to("v2")] }, { headers: { "x-user": { regex: "ja(ne|ck)" } } }),
  at("/without", { route: [to("v2")] }, { withoutHeaders: { "x-user": { exact: "jane" } } }),
  at("/query", { route: [to("v2")] }, { queryParams: { lang: { exact: "de" } } }),
  at("/post", { route: [to("v2")] }, { method: { exact: "POST" } }),
  at("/LOUD", { route: [to("v2")] }, { ignoreUriCase: true }),
  at("/others", { route: [to("v2")] }, { sourceLabels: { app: "somebody" } }),
  at("/old/", { rewrite: { uri: "/new/", authority: "inner.example" }, route: [to("v1")] }),
  {
    match: [{ uri: { regex: "/r/[0-9]+" } }],
    rewrite: { uriRegexRewrite: { match: "/r/(.*)", rewrite: "/n-\\1" } },
    route: [to("v1")],
  },
  at("/moved", { redirect: { uri: "/here", authority: "there.example", redirectCode: 307 } }),
  at("/teapot", { directResponse: { status: 418, body: { string: "short" } } }),
  at("/broken", { fault: { abort: { httpStatus: 503, percentage: { value: 100 } } }, route: [to("v1")] }),
  at("/slow", { fault: { delay: { fixedDelay: "0.3s", percentage: { value: 100 } } }, route: [to("v1")] }),
  at("/late", { timeout: "0.1s", route: [to("v1")] }),
  at("/retry", { retries: { attempts: 2, retryOn: "503" }, route: [to("v1")] }),
  at("/gone", { route: [to("gone")] }),
  at("/mirror", { route: [to("v1")], mirror: { host: "web", subset: "v2" } }),
  at("/cors", {
    corsPolicy: { allowOrigins: [{ exact: "https://a.example" }], allowMethods: ["PUT"] },
    route: [to("v1")],
  }),
  at("/split", { route: [to("v1", { weight: 80 }), to("v2", { weight: 20 })] }),
  {
    headers: { request: { set: { "x-set": "100%" }, remove: ["x-secret"] }, response: { add: { "x-added": "1" } } },
    route: [to("v1")],
  },
];

describe("a request", () => {
  test.each([
    { what: "by a header's value", path: "/header", headers: { "x-user": "jane" }, goes: "v2" },
    { what: "of another value", path: "/header", headers: { "x-user": "jo" }, goes: "v1" },
    { what: "without a header", path: "/without", headers: {}, goes: "v2" },
    { what: "with the header that must not be", path: "/without", headers: { "x-user": "jane" }, goes: "v1" },
    { what: "by its query", path: "/query?lang=de", headers: {}, goes: "v2" },
    { what: "by its path in any case", path: "/loud", headers: {}, goes: "v2" },
    { what: "of a caller that a rule does not mean", path: "/others", headers: {}, goes: "v1" },
  ])("$what goes to $goes", async ({ path, headers, goes }) => {
    expect((await get(path, { headers })).body).toMatch(new RegExp(`^${goes} `));
  });

  test("by its method", async () => {
    expect((await get("/post", { method: "POST" })).body).toMatch(/^v2 /);
    expect((await get("/post")).body).toMatch(/^v1 /);
  });

  test.each([
    ["a prefix", "/old/a?b", "v1 GET /new/a?b inner.example"],
    ["a pattern", "/r/42", "v1 GET /n-42 web"],
  ])("is rewritten by %s", async (_what, path, expected) => {
    expect((await get(path)).body).toBe(expected);
  });

  test("is redirected, or answered at once", async () => {
    const moved = await get("/moved");
    expect([moved.status, moved.headers.location]).toEqual([307, "http://there.example/here"]);
    const { status, body } = await get("/teapot");
    expect([status, body]).toEqual([418, "short"]);
  });

  test("fails, waits or runs out of time by rule", async () => {
    expect((await get("/broken")).status).toBe(503);
    const started = performance.now();
    expect((await get("/slow")).status).toBe(200);
    // Not before the rule's delay; a machine that stands still only adds to it.
    expect(performance.now() - started).toBeGreaterThan(250);
    expect((await get("/late")).status).toBe(504);
  });

  test("is tried again where the rule says so", async () => {
    expect(await get("/retry", { headers: { "x-fail": "1" } })).toMatchObject({ status: 200 });
    expect(await get("/plain", { headers: { "x-fail": "1" } })).toMatchObject({ status: 503 });
  });

  test("to a subset that does not exist gets 503, and others do not suffer", async () => {
    expect((await get("/gone")).status).toBe(503);
    expect((await get("/plain")).status).toBe(200);
  });

  test("is copied to the mirror", async () => {
    expect((await get("/mirror/x")).body).toMatch(/^v1 /);
    await until("the copy has come", async () => mirrored.includes("v2 GET /mirror/x web"));
  });

  test("has its headers changed", async () => {
    const { body, headers } = await get("/headers", { headers: { "x-secret": "1" } });
    expect(JSON.parse(body.slice(body.indexOf("{")))).toMatchObject({ "x-set": "100%" });
    expect(body).not.toContain("x-secret");
    expect(headers["x-added"]).toBe("1");
  });

  test("of another origin is allowed by the policy of its route", async () => {
    const headers = { origin: "https://a.example", "access-control-request-method": "PUT" };
    const allowed = await get("/cors", { method: "OPTIONS", headers });
    expect(allowed.headers["access-control-allow-origin"]).toBe("https://a.example");
    expect(allowed.headers["access-control-allow-methods"]).toBe("PUT");
  });

  test("is one of many that are split by weight", async () => {
    const answers = await Promise.all(Array.from({ length: 400 }, () => get("/split")));
    const second = answers.filter(({ body }) => body.startsWith("v2 ")).length;
    // Four sigma of a binomial with p = 0.2 and n = 400 is 32.
    expect(Math.abs(second - 80)).toBeLessThan(32);
  });
});

describe("the host of a request", () => {
  test.each([
    ["web", "web"],
    ["web.default.svc.cluster.local", "web"],
    ["web.default.svc.cluster.local.", "web"],
    ["WEB.default:1234", "web"],
    ["other.default.svc", "other"],
  ])("%s means %s", async (host, service) => {
    const { body } = await get("/plain", { headers: { host } });
    expect(body.split(" ")[0]).toBe(service === "web" ? "v1" : "other");
  });

  test.each([
    ["127.0.0.21", "v1"],
    ["127.0.0.22", "other"],
  ])("may be left to the address %s", async (host, expected) => {
    const { body } = await get("/plain", { host, headers: { host: `${host}:${port}` } });
    expect(body.split(" ")[0]).toBe(expected);
  });
});

/** Answers with its name, the request line, the host and, for `/headers`, all headers; fails the first try of a request when told to. */
async function backend(name: string): Promise<number> {
  const server = createServer(({ method, url = "", headers }, response) => {
    const line = `${name} ${method} ${url} ${headers.host}`;
    if (url.startsWith("/mirror")) mirrored.push(line);
    if (url.startsWith("/late")) return;
    const isFirst = headers["x-envoy-attempt-count"] === "1";
    if (headers["x-fail"] !== undefined && isFirst) response.statusCode = 503;
    response.end(url === "/headers" ? `${line} ${JSON.stringify(headers)}` : line);
  });
  backends.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

interface Asked {
  readonly host?: string;
  readonly port?: number;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Through the listener for `web`, unless another address is given. */
async function get(path: string, asked: Asked = {}): Promise<Answer> {
  const { host = "127.0.0.21", method = "GET", headers = {} } = asked;
  const sent = request({ host, port: asked.port ?? port, path, method, headers: { host: "web", ...headers } });
  sent.end();
  const [response] = await once(sent, "response");
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() };
}
