import { readFileSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { proxyRoute } from "../../src/net/http-proxy/proxy-route.ts";
import { opensslCertificates } from "../support/certs/openssl-certificates.ts";
import { needs } from "../support/needs.ts";
import { startConnectProxy } from "../support/net/connect-proxy.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { buildTar, buildTarGz } from "../support/oci/archive.ts";
import { startTestConverter } from "../support/oci/converter.ts";
import { digestOf } from "../support/oci/registry.ts";
import { wasmModule } from "../support/wasm/resources.ts";

const module = wasmModule("over http");
const checksum = digestOf(module).slice("sha256:".length);

/** Answers with these statuses, then with the body. */
async function serve(body: Buffer, statuses: readonly number[] = []) {
  let requests = 0;
  const server = await startHttpServer((_request, response) => {
    const status = statuses[requests] ?? 200;
    requests += 1;
    response.writeHead(status).end(status === 200 ? body : undefined);
  });
  return {
    url: `http://127.0.0.1:${server.port}/m.wasm`,
    requests: () => requests,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test.each([
  { what: "plain", body: module },
  { what: "gz", body: gzipSync(module) },
  { what: "tar", body: buildTar([{ name: "m.wasm", data: module }]) },
  { what: "tar.gz", body: buildTarGz([{ name: "m.wasm", data: module }]) },
])("a $what module becomes the same file, named after the module's checksum", async ({ body }) => {
  await using server = await serve(body);
  await using wasm = await startTestConverter();
  const path = await wasm.load({ url: server.url, sha256: checksum });
  expect(path).toMatch(new RegExp(`^${wasm.directory}/[0-9a-f]{64}/${checksum}\\.wasm$`));
  expect(readFileSync(path).equals(module)).toBe(true);
  expect(wasm.metrics()).toContain('istio_agent_wasm_remote_fetch_count{result="success"} 1');
  expect(wasm.metrics()).toContain("istio_agent_wasm_cache_entries 1");
  expect(wasm.metrics()).toContain("istio_agent_wasm_config_conversion_duration_count 1");
});

describe("attempts", () => {
  test("server errors are tried again: 500, 500, 500, 200 is four requests", async () => {
    await using server = await serve(module, [500, 500, 500]);
    await using wasm = await startTestConverter({ maxRetries: 5 });
    expect(await wasm.load({ url: server.url })).toContain(checksum);
    expect(server.requests()).toBe(4);
  });

  test("the number of attempts is the limit, and none is still one", async () => {
    await using server = await serve(module, [503, 503, 503, 503]);
    await using twice = await startTestConverter({ maxRetries: 2 });
    expect(await twice.reason({ url: server.url })).toContain("download failed after 2 attempts, last error");
    await using once = await startTestConverter({ maxRetries: 0 });
    expect(await once.reason({ url: server.url })).toContain("after 1 attempts");
    expect(server.requests()).toBe(3);
    expect(once.metrics()).toContain('istio_agent_wasm_remote_fetch_count{result="download_failure"} 1');
  });

  test.each([404, 403, 501, 505, 511])("status %i is final", async (status) => {
    await using server = await serve(module, [status]);
    await using wasm = await startTestConverter({ maxRetries: 5 });
    expect(await wasm.reason({ url: server.url })).toContain(
      `after 1 attempts, last error: wasm module download request failed: status code ${status}`,
    );
    expect(server.requests()).toBe(1);
  });

  test("the time limit ends the pauses too", async () => {
    await using server = await serve(
      module,
      Array.from({ length: 50 }, () => 500),
    );
    await using wasm = await startTestConverter({ maxRetries: 50 });
    // The limit may fall into a pause or, on a busy machine, into a request.
    const reason = await wasm.reason({ url: server.url, timeout: "0.7s" });
    expect(reason).toMatch(/download failed after \d attempts|did not arrive within 700 ms/);
    expect(server.requests()).toBeLessThan(10);
  });

  test("a time limit beyond what timers know means no limit at all", async () => {
    await using server = await serve(module);
    await using wasm = await startTestConverter({ requestTimeoutMs: 2 ** 40 });
    expect(await wasm.load({ url: server.url, timeout: "315576000000s" })).toContain(checksum);
  });

  test("without time no request is made", async () => {
    await using server = await serve(module);
    await using wasm = await startTestConverter({ maxRetries: 5 });
    expect(await wasm.reason({ url: server.url, timeout: "0s" })).toContain("after 1 attempts");
    expect(server.requests()).toBe(0);
  });

  test("a server that never answers costs the request's own limit, then another attempt", async () => {
    let asked = 0;
    await using server = await startHttpServer((_request, response) => {
      asked += 1;
      if (asked > 1) response.end(module);
    });
    // As long as an answer may take on a busy machine.
    await using wasm = await startTestConverter({ maxRetries: 5, requestTimeoutMs: 1000 });
    expect(await wasm.load({ url: `http://127.0.0.1:${server.port}/m` })).toContain(checksum);
  });
});

test("a connection that breaks in the middle is tried again", async () => {
  let asked = 0;
  await using server = await startHttpServer((_request, response) => {
    asked += 1;
    if (asked > 1) return void response.end(module);
    response.writeHead(200, { "content-length": module.length });
    response.write(module.subarray(0, 9), () => response.destroy());
  });
  await using wasm = await startTestConverter({ maxRetries: 2 });
  expect(await wasm.load({ url: `http://127.0.0.1:${server.port}/m` })).toContain(checksum);
  expect(asked).toBe(2);
});

test("credentials in an address are used and stay out of the log", async () => {
  const seen: (string | undefined)[] = [];
  await using server = await startHttpServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end("no module");
  });
  await using wasm = await startTestConverter();
  const reason = await wasm.reason({ url: `http://user:secret@127.0.0.1:${server.port}/m?sig=secret` });
  expect(reason).toContain(`from http://127.0.0.1:${server.port}/m?[redacted] is invalid`);
  expect(reason).not.toContain("secret");
  expect(seen).toEqual([`Basic ${Buffer.from("user:secret").toString("base64")}`]);
});

test("twenty filters with one module cause one download", async () => {
  await using server = await serve(module);
  await using wasm = await startTestConverter();
  const paths = await Promise.all(
    Array.from({ length: 20 }, (_, index) => wasm.load({ name: `plugin-${index}`, url: server.url })),
  );
  expect(new Set(paths).size).toBe(1);
  expect(server.requests()).toBe(1);
});

test.each([0, -1])("times of %i mean the usual ones", async (ms) => {
  await using server = await serve(module);
  const timers = vi.spyOn(globalThis, "setInterval");
  await using wasm = await startTestConverter({ requestTimeoutMs: ms, moduleExpiryMs: ms, purgeIntervalMs: ms });
  expect(await wasm.load({ url: server.url })).toContain(checksum);
  expect(timers.mock.calls.map(([, every]) => every)).toContain(3_600_000);
  expect(timers.mock.calls.every(([, every = 0]) => every > 0)).toBe(true);
  timers.mockRestore();
});

test("stopping twice is stopping once, and nothing is left behind", async () => {
  await using server = await serve(module);
  await using wasm = await startTestConverter();
  await wasm.load({ url: server.url });
  await Promise.all([wasm.converter.stop(), wasm.converter.stop()]);
});

describe("limits and addresses", () => {
  const large = Buffer.concat([module, Buffer.alloc(4096)]);

  test.each([
    { what: "an announced length", body: large, chunked: false },
    { what: "chunks without end", body: large, chunked: true },
    { what: "a small archive", body: gzipSync(large), chunked: false },
  ])("more than the limit is refused, not cut: $what", async ({ body, chunked }) => {
    await using server = await startHttpServer((_request, response) => {
      if (!chunked) return void response.end(body);
      response.write(body);
      response.on("error", () => undefined);
      response.end(body);
    });
    await using wasm = await startTestConverter({ maxModuleBytes: 2048, maxRetries: 3 });
    expect(await wasm.reason({ url: `http://127.0.0.1:${server.port}/m` })).toContain("larger than the allowed 2048");
  });

  test("another checksum than the expected one stores nothing", async () => {
    await using server = await serve(module);
    await using wasm = await startTestConverter();
    const wanted = "f".repeat(64);
    expect(await wasm.reason({ url: server.url, sha256: wanted })).toContain(
      `module downloaded from ${server.url} has checksum ${checksum}, which does not match: ${wanted}`,
    );
    expect(wasm.metrics()).toContain('{result="checksum_mismatched"} 1');
    expect(wasm.metrics()).not.toContain("wasm_cache_entries 1");
  });

  test.each(["../../../../etc/passwd", "x", "A".repeat(64).concat("/..")])(
    "the checksum %s is never a path",
    async (sha256) => {
      await using server = await serve(module);
      await using wasm = await startTestConverter();
      expect(await wasm.reason({ url: server.url, sha256 })).toContain("does not match");
    },
  );

  test("something that is not a module is refused", async () => {
    await using server = await serve(Buffer.from("<html>sorry</html>"));
    await using wasm = await startTestConverter();
    expect(await wasm.reason({ url: server.url })).toContain(`fetched Wasm binary from ${server.url} is invalid`);
    expect(wasm.metrics()).toContain('{result="fetch_failure"} 1');
  });

  test("redirects are followed, ten at most", async () => {
    await using server = await startHttpServer((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end(module);
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    });
    await using wasm = await startTestConverter();
    expect(await wasm.load({ url: `http://127.0.0.1:${server.port}/10` })).toContain(checksum);
    expect(await wasm.reason({ url: `http://127.0.0.1:${server.port}/11` })).toContain("stopped after 10 redirects");
  });

  test.each([
    "http://169.254.169.254/latest/meta-data",
    "http://[fe80::1]/",
    "http://metadata.test/",
    "ftp://127.0.0.1/x",
  ])("a redirect to %s is not followed", async (location) => {
    await using server = await startHttpServer(
      (_request, response) => void response.writeHead(302, { location }).end(),
    );
    const resolve = async () => [{ address: "169.254.169.254", family: 4 }];
    await using wasm = await startTestConverter({ resolve });
    expect(await wasm.reason({ url: `http://127.0.0.1:${server.port}/` })).toMatch(
      /not allowed|neither http nor https/,
    );
  });

  test("a network of the operator's list is not dialled, by name or number", async () => {
    await using server = await serve(module);
    const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
    await using wasm = await startTestConverter({ blockedCidrs: ["127.0.0.0/8"], resolve, maxRetries: 3 });
    for (const host of ["127.0.0.1", "modules.test"]) {
      expect(await wasm.reason({ url: server.url.replace("127.0.0.1", host) })).toContain("not allowed");
    }
    expect(server.requests()).toBe(0);
  });

  test.each([
    { url: "ftp://x/y", error: "unsupported Wasm module downloading URL scheme: ftp" },
    { url: "module.wasm", error: "unsupported Wasm module downloading URL scheme" },
    { url: "http://exa mple/", error: "fail to parse Wasm module fetch url" },
  ])("$url: $error", async ({ url, error }) => {
    await using wasm = await startTestConverter();
    expect(await wasm.reason({ url })).toContain(error);
  });
});

describe("TLS", () => {
  beforeEach(needs("openssl"));

  test("an unknown certificate is refused unless the host is listed or its root is known", async () => {
    const certs = opensslCertificates();
    const server = createTlsServer(certs.server, (_request, response) => void response.end(module));
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    const { port } = server.address() as AddressInfo;
    const url = `https://127.0.0.1:${port}/m.wasm`;
    try {
      await using strict = await startTestConverter({ insecureRegistries: ["127.0.0.1"] });
      expect(await strict.reason({ url })).toMatch(/certificate/);
      await using listed = await startTestConverter({ insecureRegistries: [`127.0.0.1:${port}`] });
      expect(await listed.load({ url })).toContain(checksum);
      await using all = await startTestConverter({ insecureRegistries: ["*"] });
      expect(await all.load({ url })).toContain(checksum);
      await using known = await startTestConverter({ ca: certs.ca });
      expect(await known.load({ url })).toContain(checksum);
      await using partlyBad = await startTestConverter({
        ca: `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${certs.ca}`,
      });
      expect(await partlyBad.load({ url })).toContain(checksum);
      await using empty = await startTestConverter({
        ca: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      });
      expect(await empty.reason({ url })).toMatch(/certificate/);
      await using missing = await startTestConverter({ rootsFile: "/nowhere/roots.pem" });
      expect(await missing.reason({ url })).toMatch(/certificate/);
      // TLS is with the server, whatever is in between: its name is checked, and the proxy's answer is reported.
      await using proxy = await startConnectProxy(`127.0.0.1:${port}`);
      const through = (proxyPort: number) => (address: URL) =>
        // The tests' server is on this machine, which no proxy is for.
        proxyRoute(new URL(address.href.replace(/127.0.0.1|localhost/, "modules.example")), {
          httpsProxy: `127.0.0.1:${proxyPort}`,
          httpProxy: "",
          noProxy: "",
        });
      await using behind = await startTestConverter({ ca: certs.ca, route: through(proxy.port) });
      expect(await behind.load({ url: url.replace("127.0.0.1", "localhost") })).toContain(checksum);
      expect(await behind.reason({ url: "https://modules.example/m.wasm" })).toMatch(/altnames|alt name/);
      expect(proxy.asked).toHaveLength(2);
      await using refusing = await startConnectProxy("", 403);
      await using refused = await startTestConverter({ ca: certs.ca, route: through(refusing.port) });
      expect(await refused.reason({ url })).toContain("refused: 403 Forbidden");
    } finally {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
  });
});
