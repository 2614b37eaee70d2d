import { expect, test } from "vitest";
import { type ProxySettings, proxyRoute } from "../../src/net/http-proxy/proxy-route.ts";
import { startForwardProxy } from "../support/net/forward-proxy.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { startTestConverter } from "../support/oci/converter.ts";
import { digestOf, startOciRegistry } from "../support/oci/registry.ts";
import { wasmModule } from "../support/wasm/resources.ts";

const module = wasmModule("behind a proxy");
const checksum = digestOf(module).slice("sha256:".length);
const basic = (login: string) => `Basic ${Buffer.from(login).toString("base64")}`;

/** A server of modules, a proxy that knows the way there, and a converter with that environment. */
async function setUp(settings: (proxyPort: number) => Partial<ProxySettings>) {
  const server = await startHttpServer((_request, response) => void response.end(module));
  const proxy = await startForwardProxy(server.port);
  const environment = { httpProxy: "", httpsProxy: "", noProxy: "", ...settings(proxy.port) };
  const wasm = await startTestConverter({
    route: (url) => proxyRoute(url, environment),
    // No one but the proxy knows the names.
    resolve: async (name) => Promise.reject(new Error(`no such host: ${name}`)),
  });
  return {
    server,
    proxy,
    wasm,
    async [Symbol.asyncDispose]() {
      await wasm[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("a module over plain http is asked for at the proxy of HTTP_PROXY, by its whole address", async () => {
  await using parts = await setUp((port) => ({ httpProxy: `http://me:p%40ss@127.0.0.1:${port}` }));
  const path = await parts.wasm.load({ url: "http://user:word@modules.example:8080/a/m.wasm?v=1" });
  expect(path).toContain(checksum);
  expect(parts.proxy.asked).toEqual([
    {
      target: "http://modules.example:8080/a/m.wasm?v=1",
      host: "modules.example:8080",
      login: basic("me:p@ss"),
      authorization: basic("user:word"),
    },
  ]);
});

test("the scheme of the proxy and the default port may be left out", async () => {
  await using parts = await setUp((port) => ({ httpProxy: `127.0.0.1:${port}` }));
  expect(await parts.wasm.load({ url: "http://modules.example/m.wasm" })).toContain(checksum);
  expect(parts.proxy.asked).toMatchObject([{ target: "http://modules.example/m.wasm", login: undefined }]);
});

test.each([
  { url: "http://modules.example/m", noProxy: "modules.example" },
  { url: "http://modules.example/m", noProxy: "modules.example:80" },
  { url: "http://modules.example:8080/m", noProxy: ".example:8080" },
  { url: "http://modules.example/m", noProxy: "*" },
  { url: "http://10.1.2.3/m", noProxy: "10.0.0.0/8" },
  { url: "http://[fd00::5]/m", noProxy: "fd00::/16" },
  { url: "http://127.0.0.1:1/m", noProxy: "" },
  { url: "http://localhost/m", noProxy: "" },
  { url: "http://[::1]:1/m", noProxy: "" },
  { url: "https://modules.example/m", noProxy: "" },
])("$url with NO_PROXY=$noProxy goes there directly", ({ url, noProxy }) => {
  expect(proxyRoute(new URL(url), { httpProxy: "proxy:1", httpsProxy: "", noProxy })).toBeUndefined();
});

test.each([
  { url: "http://modules.example/m", noProxy: "modules.example:8080", kind: "forward" },
  { url: "http://10.1.2.3/m", noProxy: "11.0.0.0/8", kind: "forward" },
  { url: "http://[fd00::5]:81/m", noProxy: "", kind: "forward" },
  { url: "https://[fd00::5]/m", noProxy: "", kind: "tunnel" },
  { url: "https://modules.example/m", noProxy: "modules.example:80", kind: "tunnel" },
])("$url with NO_PROXY=$noProxy takes the $kind", ({ url, noProxy, kind }) => {
  const proxies = { httpProxy: "proxy:1", httpsProxy: "proxy:2" };
  expect(proxyRoute(new URL(url), { ...proxies, noProxy })).toMatchObject({ kind });
});

test("a redirect finds its own way, and the proxy's login stays with the proxy", async () => {
  const seen: (string | undefined)[] = [];
  await using direct = await startHttpServer((request, response) => {
    seen.push(request.headers["proxy-authorization"]);
    response.end(module);
  });
  await using redirecting = await startHttpServer((_request, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${direct.port}/m.wasm` }).end();
  });
  await using proxy = await startForwardProxy(redirecting.port);
  const settings = { httpProxy: `me:secret@127.0.0.1:${proxy.port}`, httpsProxy: "", noProxy: "" };
  await using wasm = await startTestConverter({ route: (url) => proxyRoute(url, settings) });
  expect(await wasm.load({ url: "http://modules.example/m.wasm" })).toContain(checksum);
  expect(proxy.asked).toHaveLength(1);
  expect(seen).toEqual([undefined]);
});

test("a listed registry over plain http is reached through the proxy too", async () => {
  await using registry = await startOciRegistry();
  registry.push("org/app", "v1", module);
  await using proxy = await startForwardProxy(registry.port);
  const settings = { httpProxy: `127.0.0.1:${proxy.port}`, httpsProxy: "", noProxy: "" };
  await using wasm = await startTestConverter({
    insecureRegistries: ["registry.example:5000"],
    route: (url) => proxyRoute(url, settings),
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
  });
  expect(await wasm.load({ url: "oci://registry.example:5000/org/app:v1" })).toContain(".wasm");
  expect(proxy.asked.map(({ target }) => target)).toEqual([
    "http://registry.example:5000/v2/",
    "http://registry.example:5000/v2/org/app/manifests/v1",
    expect.stringMatching(/^http:\/\/registry\.example:5000\/v2\/org\/app\/blobs\/sha256:/),
  ]);
});

test.each([
  { is: "that is not there", httpProxy: "me:secret@127.0.0.1:1", error: "the HTTP proxy 127.0.0.1:1: connect ECONN" },
  { is: "of another kind", httpProxy: "socks4://me:secret@p:1", error: "HTTP_PROXY is not the address of a proxy" },
  { is: "without a name", httpProxy: "http://", error: "HTTP_PROXY is not the address of a proxy" },
])("a proxy $is fails the module, without the login", async ({ httpProxy, error }) => {
  await using parts = await setUp(() => ({ httpProxy }));
  const reason = await parts.wasm.reason({ url: "http://modules.example/m.wasm" });
  expect(reason).toContain(error);
  expect(reason).not.toContain("secret");
});

test("a proxy that wants a login is reported as its status", async () => {
  await using proxy = await startHttpServer((_request, response) => void response.writeHead(407).end("login!"));
  const settings = { httpProxy: `127.0.0.1:${proxy.port}`, httpsProxy: "", noProxy: "" };
  await using wasm = await startTestConverter({ route: (url) => proxyRoute(url, settings) });
  expect(await wasm.reason({ url: "http://modules.example/m.wasm" })).toContain("status code 407");
});

test("a forbidden address is not asked of the proxy either", async () => {
  await using parts = await setUp((port) => ({ httpProxy: `127.0.0.1:${port}` }));
  expect(await parts.wasm.reason({ url: "http://169.254.169.254/latest" })).toContain("is not allowed");
  expect(parts.proxy.asked).toEqual([]);
});
