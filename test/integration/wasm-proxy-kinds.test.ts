import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { type ProxySettings, proxyRoute } from "../../src/net/http-proxy/proxy-route.ts";
import { opensslCertificates } from "../support/certs/openssl-certificates.ts";
import { needs } from "../support/needs.ts";
import { startConnectProxy } from "../support/net/connect-proxy.ts";
import { startForwardProxy } from "../support/net/forward-proxy.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { type SocksProxyOptions, startSocksProxy } from "../support/net/socks-proxy.ts";
import { startTestConverter } from "../support/oci/converter.ts";
import { digestOf } from "../support/oci/registry.ts";
import { wasmModule } from "../support/wasm/resources.ts";

beforeEach(needs("openssl"));

const module = wasmModule("behind another kind of proxy");
const checksum = digestOf(module).slice("sha256:".length);
const basic = (login: string) => `Basic ${Buffer.from(login).toString("base64")}`;

/** The tests' server presents the name localhost, which no proxy is for: only the choice of the way sees another name. */
const elsewhere = (url: URL) => new URL(url.href.replace("//localhost", "//modules.example"));

/** Names are known to the proxy alone. */
const converterWith = (
  settings: Partial<ProxySettings>,
  more: { readonly ca?: string } = { ca: opensslCertificates().ca },
) =>
  startTestConverter({
    ...more,
    route: (url, roots) =>
      proxyRoute(elsewhere(url), { httpProxy: "", httpsProxy: "", noProxy: "", ...settings }, roots),
    resolve: async (name) => Promise.reject(new Error(`no such host: ${name}`)),
  });

const plainServer = () => startHttpServer((_request, response) => void response.end(module));
const secureServer = () =>
  startHttpServer((_request, response) => void response.end(module), "127.0.0.1", opensslCertificates().server);

describe("an https:// proxy", () => {
  test("tunnels https inside TLS of its own, with the login inside it", async () => {
    const { server: key } = opensslCertificates();
    await using server = await secureServer();
    await using proxy = await startConnectProxy(`127.0.0.1:${server.port}`, 200, key);
    await using wasm = await converterWith({ httpsProxy: `https://me:p%40ss@127.0.0.1:${proxy.port}` });
    expect(await wasm.load({ url: "https://localhost/m.wasm" })).toContain(checksum);
    expect(proxy.asked).toEqual([{ target: "modules.example:443", login: basic("me:p@ss") }]);
  });

  test("makes plain requests itself", async () => {
    await using server = await plainServer();
    await using proxy = await startForwardProxy(server.port, opensslCertificates().server);
    await using wasm = await converterWith({ httpProxy: `https://me:word@localhost:${proxy.port}` });
    expect(await wasm.load({ url: "http://modules.example/m.wasm" })).toContain(checksum);
    expect(proxy.asked).toMatchObject([{ target: "http://modules.example/m.wasm", login: basic("me:word") }]);
  });

  test.each([
    {
      is: "signed by no one who is trusted",
      key: () => opensslCertificates().server,
      ca: undefined,
      says: /certificate/,
    },
    {
      is: "for another name",
      key: () => opensslCertificates().otherServer,
      ca: opensslCertificates,
      says: /altnames|alt name/,
    },
  ])("with a certificate $is gets neither request nor login", async ({ key, ca, says }) => {
    await using proxy = await startConnectProxy("127.0.0.1:1", 200, key());
    const settings = { httpsProxy: `https://me:secret@127.0.0.1:${proxy.port}` };
    await using wasm = await converterWith(settings, ca === undefined ? {} : { ca: ca().ca });
    const reason = await wasm.reason({ url: "https://localhost/m.wasm" });
    expect(reason).toMatch(says);
    expect(reason).toContain(`the HTTPS proxy 127.0.0.1:${proxy.port}: `);
    expect(reason).not.toContain("secret");
    expect(proxy.asked).toEqual([]);
  });
});

describe("a socks5:// proxy", () => {
  test("tunnels https, with user and password", async () => {
    await using server = await secureServer();
    await using proxy = await startSocksProxy({ to: server.port, login: "me:p@ss" });
    await using wasm = await converterWith({ httpsProxy: `socks5://me:p%40ss@127.0.0.1:${proxy.port}` });
    expect(await wasm.load({ url: "https://localhost:8443/m.wasm" })).toContain(checksum);
    expect(proxy.asked).toEqual(["modules.example:8443"]);
  });

  test.each([
    { url: "http://modules.example/m.wasm", asked: "modules.example:80" },
    { url: "http://10.1.2.3:8080/m.wasm", asked: "10.1.2.3:8080" },
    { url: "http://[fd00::5]/m.wasm", asked: `fd00${"0".repeat(24)}0005:80` },
  ])("tunnels $url as $asked, without a login where none is wanted", async ({ url, asked }) => {
    await using server = await plainServer();
    await using proxy = await startSocksProxy({ to: server.port });
    await using wasm = await converterWith({ httpProxy: `socks5h://me:unused@127.0.0.1:${proxy.port}` });
    expect(await wasm.load({ url })).toContain(checksum);
    expect(proxy.asked).toEqual([asked]);
  });

  test.each<{ is: string; options: Omit<SocksProxyOptions, "to">; login: string; says: string }>([
    { is: "a wrong password", options: { login: "me:right" }, login: "me:secret@", says: "user or password is wrong" },
    { is: "a login where one is wanted", options: { login: "me:right" }, login: "", says: "it wants a login" },
    { is: "a rule against it", options: { reply: 2 }, login: "", says: "connection not allowed by ruleset" },
    { is: "a dead host", options: { reply: 5 }, login: "", says: "connection refused" },
    { is: "an unknown reply", options: { reply: 77 }, login: "", says: "reply 77" },
  ])("with $is fails the module with the reason", async ({ options, login, says }) => {
    await using proxy = await startSocksProxy({ to: 1, ...options });
    await using wasm = await converterWith({ httpProxy: `socks5://${login}127.0.0.1:${proxy.port}` });
    const reason = await wasm.reason({ url: "http://modules.example/m.wasm" });
    expect(reason).toContain(`the SOCKS proxy 127.0.0.1:${proxy.port} refused: ${says}`);
    expect(reason).not.toContain("secret");
  });

  test("that is an HTTP server, or closes at once, fails the module and leaves nothing open", async () => {
    await using http = await plainServer();
    await using wrong = await converterWith({ httpProxy: `socks5://127.0.0.1:${http.port}` });
    expect(await wrong.reason({ url: "http://modules.example/m.wasm" })).toContain("it speaks version 72 of SOCKS");
    await using gone = await converterWith({ httpProxy: "socks5://127.0.0.1:1" });
    expect(await gone.reason({ url: "http://modules.example/m" })).toContain("SOCKS proxy 127.0.0.1:1: connect ECONN");
  });

  test("of these tests also serves curl", async (context) => {
    needs("curl")(context);
    await using server = await plainServer();
    await using proxy = await startSocksProxy({ to: server.port, login: "me:word" });
    const args = ["-sS", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "", "--proxy"];
    const { stdout } = await promisify(execFile)("curl", [
      ...args,
      `socks5h://me:word@127.0.0.1:${proxy.port}`,
      "http://modules.example/",
    ]);
    expect(stdout).toBe("200");
  });
});

describe("ALL_PROXY", () => {
  test("is for both schemes, and less than the variable of a scheme", async () => {
    await using server = await plainServer();
    await using all = await startSocksProxy({ to: server.port });
    await using own = await startForwardProxy(server.port);
    const allProxy = `socks5://127.0.0.1:${all.port}`;
    await using wasm = await converterWith({ allProxy });
    expect(await wasm.load({ url: "http://modules.example/m.wasm" })).toContain(checksum);
    await using both = await converterWith({ allProxy, httpProxy: `127.0.0.1:${own.port}` });
    expect(await both.load({ url: "http://modules.example/m.wasm" })).toContain(checksum);
    expect([all.asked.length, own.asked.length]).toEqual([1, 1]);
  });

  test.each([
    { noProxy: "modules.example", goes: undefined },
    { noProxy: "", goes: "tunnel" },
  ])("with NO_PROXY=$noProxy leads $goes", ({ noProxy, goes }) => {
    const settings = { httpProxy: "", httpsProxy: "", allProxy: "socks5://p:1", noProxy };
    expect(proxyRoute(new URL("https://modules.example/m"), settings)?.kind).toBe(goes);
  });

  test("that is wrong is named in the reason, without its login", () => {
    const settings = { httpProxy: "", httpsProxy: "", allProxy: "socks5://:secret@p:1", noProxy: "" };
    const route = () => proxyRoute(new URL("https://modules.example/m"), settings);
    expect(route).toThrow("the user of ALL_PROXY for SOCKS has 1 to 255 bytes");
    expect(route).not.toThrow("secret");
  });
});
