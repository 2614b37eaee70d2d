import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { startHttpServer } from "../support/net/http-server.ts";
import { startTestConverter } from "../support/oci/converter.ts";
import { OCI_TYPES, type OciRegistry, startOciRegistry } from "../support/oci/registry.ts";
import { wasmModule } from "../support/wasm/resources.ts";

const module = wasmModule("among enemies");
const MIB = 1024 * 1024;
const loopback = async () => [{ address: "127.0.0.1", family: 4 }];
const basic = Buffer.from("user:pass:word").toString("base64");
const pullSecret = (host: string, entry: object = { auth: basic }) => ({
  ISTIO_META_WASM_IMAGE_PULL_SECRET: JSON.stringify({ auths: { [host]: entry } }),
});

/** Writes on until the other side has enough. */
function endless(response: ServerResponse, chunk: Buffer): void {
  const more = () => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on("drain", more).on("error", () => undefined);
  more();
}

async function startHostile(
  matching: string,
  answer: (response: ServerResponse, request: IncomingMessage) => void,
): Promise<OciRegistry> {
  const registry = await startOciRegistry();
  registry.push("org/app", "v1", module);
  registry.intercept((request, response) => {
    if (request.url?.includes(matching) !== true) return false;
    answer(response, request);
    return true;
  });
  return registry;
}

describe("a registry", () => {
  const json = { "content-type": OCI_TYPES.manifest };
  const manifest = (layers: readonly object[]) => JSON.stringify({ schemaVersion: 2, layers });
  test.each<{ what: string; at: string; answer: (response: ServerResponse) => void; error: string }>([
    {
      what: "whose refusal never ends",
      at: "/manifests/",
      answer: (response) => endless(response.writeHead(403, json), Buffer.alloc(64 * 1024)),
      error: "unexpected status code 403",
    },
    {
      what: "whose refusal never begins",
      at: "/manifests/",
      answer: (response) => response.writeHead(404, { "content-length": 1000 }).flushHeaders(),
      error: "unexpected status code 404",
    },
    {
      what: "with a manifest that is announced as huge",
      at: "/manifests/",
      answer: (response) => response.writeHead(200, { ...json, "content-length": 5 * MIB }).flushHeaders(),
      error: "larger than the allowed 4194304 bytes",
    },
    {
      what: "with a manifest without end",
      at: "/manifests/",
      answer: (response) => endless(response.writeHead(200, json), Buffer.alloc(64 * 1024, " ")),
      error: "larger than the allowed 4194304 bytes",
    },
    {
      what: "with a manifest nested without end",
      at: "/manifests/",
      answer: (response) => void response.writeHead(200, json).end("[".repeat(3 * MIB)),
      error: "not a JSON document",
    },
    {
      what: "with a media type of a megabyte",
      at: "/manifests/",
      answer: (response) =>
        void response
          .writeHead(200, json)
          .end(manifest([{ mediaType: "m".repeat(MIB), digest: `sha256:${"a".repeat(64)}`, size: 1 }])),
      error: "invalid media type",
    },
    {
      what: "with a media type of several lines",
      at: "/manifests/",
      answer: (response) =>
        void response
          .writeHead(200, json)
          .end(manifest([{ mediaType: "a\nFATAL all is lost", digest: `sha256:${"a".repeat(64)}`, size: 1 }])),
      error: "invalid media type",
    },
    {
      what: "with a digest that is a path",
      at: "/manifests/",
      answer: (response) =>
        void response.writeHead(200, json).end(manifest([{ mediaType: OCI_TYPES.layer, digest: "sha256:../../../x" }])),
      error: "without a sha256 digest",
    },
    {
      what: "that redirects to itself for ever",
      at: "/manifests/",
      answer: (response) => void response.writeHead(307, { location: "?again" }).end(),
      error: "stopped after 10 redirects",
    },
    {
      what: "that redirects to an address of many kilobytes",
      at: "/manifests/",
      answer: (response) =>
        void response.writeHead(302, { location: `http://169.254.1.1/${"a".repeat(10_000)}` }).end(),
      error: "is not allowed",
    },
    {
      what: "that always asks for another login",
      at: "/v2/",
      answer: (response) => void response.writeHead(401, { "www-authenticate": 'Basic realm="more"' }).end(),
      error: "unexpected status code 401",
    },
    {
      what: "whose challenge is made to be parsed for long",
      at: "/v2/",
      answer: (response) =>
        void response.writeHead(401, { "www-authenticate": `Bearer ${"a= ,\t".repeat(2000)}` }).end(),
      error: "unexpected status code 401",
    },
    {
      what: "that hangs up",
      at: "/manifests/",
      answer: (response) => void response.destroy(),
      error: "could not fetch manifest",
    },
  ])("$what fails its module soon, in few words, and nothing is written", async ({ at, answer, error }) => {
    await using registry = await startHostile(at, answer);
    await using wasm = await startTestConverter();
    const reason = await wasm.reason({ url: `oci://${registry.host}/org/app:v1`, timeout: "600s" }); // beyond the test's
    expect(reason).toContain(error);
    expect(reason).not.toContain("FATAL");
    expect(reason.length).toBeLessThan(2000);
    expect(registry.requests.length).toBeLessThan(15);
    expect(readdirSync(wasm.directory)).toEqual([]);
  });

  test.each(["/v2/", "/manifests/", "/blobs/"])(
    "that answers drop by drop at %s costs the limit, no more",
    async (at) => {
      const timers: NodeJS.Timeout[] = [];
      await using registry = await startHostile(at, (response) => {
        response.writeHead(200, { "content-type": OCI_TYPES.manifest }).on("error", () => undefined);
        timers.push(setInterval(() => response.write(" "), 20));
      });
      await using wasm = await startTestConverter();
      const reason = await wasm.reason({ url: `oci://${registry.host}/org/app:v1`, timeout: "0.5s" });
      for (const timer of timers) clearInterval(timer);
      expect(reason).toMatch(/deadline exceeded|did not arrive within 500 ms/);
      expect(readdirSync(wasm.directory)).toEqual([]);
    },
  );
});

test("a redirect is followed at once, however long its own words are", async () => {
  await using server = await startHttpServer((request, response) => {
    if (request.url === "/there") return void response.end(module);
    endless(response.writeHead(302, { location: "/there" }), Buffer.alloc(64 * 1024));
  });
  await using wasm = await startTestConverter({ requestTimeoutMs: 20_000 });
  expect(await wasm.load({ url: `http://127.0.0.1:${server.port}/here` })).toContain(".wasm");
});

describe("a reference that is pinned by another algorithm", () => {
  const pin = async (algorithm: string, content: (body: string) => string) => {
    await using registry = await startOciRegistry();
    const layers = [
      registry.addBlob(OCI_TYPES.artifactConfig, Buffer.from("{}")),
      registry.addBlob(OCI_TYPES.artifactLayer, module),
    ];
    const body = JSON.stringify({ schemaVersion: 2, layers });
    registry.intercept((request, response) => {
      if (request.url?.includes("/manifests/") !== true) return false;
      response.writeHead(200, { "content-type": OCI_TYPES.manifest }).end(body);
      return true;
    });
    await using wasm = await startTestConverter();
    const url = `oci://${registry.host}/org/app@${algorithm}:${content(body)}`;
    const outcome = await wasm.load({ url });
    return `${outcome} ${wasm.errors.join()}`;
  };
  const hash = (algorithm: string) => (body: string) => createHash(algorithm).update(body).digest("hex");

  test.each(["sha256", "sha384", "sha512"])("%s is that image or none", async (algorithm) => {
    expect(await pin(algorithm, hash(algorithm))).toMatch(/\.wasm $/);
    expect(await pin(algorithm, (body) => hash(algorithm)(`${body} `))).toMatch(
      /^deny .*does not match requested digest/,
    );
  });

  test("one that no one can check is refused", async () => {
    expect(await pin("md5", hash("md5"))).toMatch(/^deny .*cannot check digests of md5/);
  });
});

describe("a token service", () => {
  test.each<{ what: string; answer: (response: ServerResponse) => void; error: string }>([
    {
      what: "that answers in prose",
      answer: (r) => void r.end("tok-secret"),
      error: "the answer is not a JSON document",
    },
    { what: "without a token", answer: (r) => void r.end('{"expires_in":300}'), error: "the answer has no token" },
    { what: "that says null", answer: (r) => void r.end("null"), error: "the answer is not a JSON document" },
    {
      what: "whose token is several headers",
      answer: (r) => void r.end(JSON.stringify({ token: "tok-secret\r\nX-Evil: 1" })),
      error: "the answer has no token",
    },
    {
      what: "that never stops",
      answer: (r) => endless(r, Buffer.alloc(64 * 1024, " ")),
      error: "larger than the allowed",
    },
    { what: "that fails", answer: (r) => endless(r.writeHead(500), Buffer.alloc(64 * 1024)), error: "status code 500" },
  ])("$what fails the module and nothing of it is reported", async ({ answer, error }) => {
    await using tokens = await startHttpServer((_request, response) => answer(response));
    const realm = `http://auth.test:${tokens.port}/token`;
    await using registry = await startOciRegistry({ auth: { kind: "bearer", realm } });
    registry.push("org/app", "v1", module);
    await using wasm = await startTestConverter({ resolve: loopback });
    const reason = await wasm.reason({ url: `oci://${registry.host}/org/app:v1`, timeout: "600s" }); // beyond the test's
    expect(reason).toContain(error);
    expect(reason).not.toContain("tok-secret");
  });

  test("of another name on this network gets no credentials in plain text, the registry of that kind does", async () => {
    await using tokens = await startOciRegistry({ auth: { kind: "bearer", user: "user", password: "pass:word" } });
    await using registry = await startOciRegistry({
      auth: { kind: "bearer", realm: `http://auth.local:${tokens.port}/token` },
    });
    registry.push("org/app", "v1", module);
    tokens.push("org/app", "v1", module);
    await using wasm = await startTestConverter({ resolve: loopback });
    const elsewhere = `registry.local:${registry.port}`;
    expect(await wasm.reason({ url: `oci://${elsewhere}/org/app:v1`, env: pullSecret(elsewhere) })).toContain(
      "credentials are not sent over plain http",
    );
    expect(tokens.requests).toEqual([]);
    await using own = await startOciRegistry({ auth: { kind: "basic", user: "user", password: "pass:word" } });
    own.push("org/app", "v1", module);
    const host = `registry.local:${own.port}`;
    expect(await wasm.load({ url: `oci://${host}/org/app:v1`, env: pullSecret(host) })).toContain(".wasm");
  });
});
