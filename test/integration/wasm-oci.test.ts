import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { opensslCertificates } from "../support/certs/openssl-certificates.ts";
import { needs } from "../support/needs.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { buildTarGz } from "../support/oci/archive.ts";
import { startTestConverter } from "../support/oci/converter.ts";
import { digestOf, type ImageForm, OCI_TYPES, type OciRegistry, startOciRegistry } from "../support/oci/registry.ts";
import { wasmModule } from "../support/wasm/resources.ts";

const module = wasmModule("in an image");
const hex = (digest: string) => digest.slice("sha256:".length);
const blobRequests = (registry: OciRegistry) => registry.requests.filter((line) => line.includes("/blobs/")).length;
const dockerConfig = (host: string, entry: object) => ({
  ISTIO_META_WASM_IMAGE_PULL_SECRET: JSON.stringify({ auths: { [host]: entry } }),
});
const auth = Buffer.from("user:pass:word").toString("base64");
const credentials = { user: "user", password: "pass:word" };
const loopback = async () => [{ address: "127.0.0.1", family: 4 }];

describe("image forms", () => {
  test.each<ImageForm>(["docker", "compat", "artifact"])("a module in the %s form", async (form) => {
    await using registry = await startOciRegistry();
    const digest = registry.push("org/app", "v1", module, form);
    await using wasm = await startTestConverter();
    const path = await wasm.load({ url: `oci://${registry.host}/org/app:v1` });
    expect(path).toContain(`/${hex(digest)}.wasm`);
    expect(readFileSync(path).equals(module)).toBe(true);
    expect(registry.requests[0]).toBe("GET /v2/");
    expect(blobRequests(registry)).toBe(1);
  });

  const layer = (registry: OciRegistry, type: string, content: Buffer) => registry.addBlob(type, content);
  test.each([
    {
      what: "no layers",
      mediaType: OCI_TYPES.manifest,
      layers: () => [],
      error: "could not fetch Wasm binary: number of layers must be greater than zero",
    },
    {
      what: "a docker image whose last layer is of another type",
      mediaType: OCI_TYPES.dockerManifest,
      layers: (registry: OciRegistry) => [
        layer(registry, OCI_TYPES.layer, buildTarGz([{ name: "plugin.wasm", data: module }])),
      ],
      error: "could not extract Wasm file from the image as Docker container: invalid media type",
    },
    {
      what: "a docker image without the plugin",
      mediaType: OCI_TYPES.dockerManifest,
      layers: (registry: OciRegistry) => [
        layer(registry, OCI_TYPES.dockerLayer, buildTarGz([{ name: "a", data: module }])),
      ],
      error: "plugin.wasm not found in the archive",
    },
    {
      what: "an artifact of one layer",
      mediaType: OCI_TYPES.manifest,
      layers: (registry: OciRegistry) => [layer(registry, OCI_TYPES.artifactLayer, module)],
      error: "could not parse as oci variant: number of layers must be 2 but got 1",
    },
    {
      what: "an artifact of three layers",
      mediaType: OCI_TYPES.manifest,
      layers: (registry: OciRegistry) =>
        ["a", "b", "c"].map((text) => layer(registry, OCI_TYPES.artifactLayer, Buffer.from(text))),
      error: "number of layers must be 2 but got 3",
    },
    {
      what: "two layers of unknown types",
      mediaType: OCI_TYPES.manifest,
      layers: (registry: OciRegistry) => ["a", "b"].map((text) => layer(registry, "text/plain", Buffer.from(text))),
      error:
        "the given image is in invalid format as an OCI image: 2 errors occurred:\n\t* could not parse as compat variant: invalid media type",
    },
    {
      what: "an artifact that is compressed",
      mediaType: OCI_TYPES.manifest,
      layers: (registry: OciRegistry) => [
        layer(registry, OCI_TYPES.artifactConfig, Buffer.from("{}")),
        layer(registry, OCI_TYPES.artifactLayer, buildTarGz([{ name: "plugin.wasm", data: module }])),
      ],
      error: "is invalid",
    },
  ])("$what is refused", async ({ mediaType, layers, error }) => {
    await using registry = await startOciRegistry();
    registry.addManifest("org/app", "v1", { schemaVersion: 2, mediaType, layers: layers(registry) }, mediaType);
    await using wasm = await startTestConverter();
    expect(await wasm.reason({ url: `oci://${registry.host}/org/app:v1` })).toContain(error);
  });

  const KIB = 1024;
  test.each([
    { what: "a link of the plugin's name", tar: [{ name: "plugin.wasm", type: "2" }], error: "not found" },
    { what: "a hard link of its name", tar: [{ name: "plugin.wasm", type: "1" }], error: "not found" },
    { what: "a device of its name", tar: [{ name: "plugin.wasm", type: "3" }], error: "not found" },
    { what: "a folder of its name", tar: [{ name: "plugin.wasm/", type: "5" }], error: "not found" },
    {
      what: "a huge sparse file",
      tar: [{ name: "plugin.wasm", type: "S", claimedSize: 8 ** 10 }],
      error: "longer than",
    },
    { what: "a file that is not there", tar: [{ name: "plugin.wasm", claimedSize: 8 ** 10 }], error: "longer than" },
    { what: "an empty plugin", tar: [{ name: "plugin.wasm" }], error: "is invalid" },
    {
      what: "a bomb",
      tar: [{ name: "plugin.wasm", data: Buffer.alloc(64 * 1024 * KIB) }],
      error: "unpacked, it is larger",
    },
    {
      what: "nothing but descriptions",
      tar: [{ name: "x", type: "x", data: Buffer.alloc(1200 * KIB, "5 a=\n") }],
      error: "extended headers are too large",
    },
  ])("a layer with $what is refused, and nothing is written", async ({ tar, error }) => {
    await using registry = await startOciRegistry();
    const layers = [registry.addBlob(OCI_TYPES.layer, buildTarGz(tar))];
    registry.addManifest("org/app", "v1", { schemaVersion: 2, layers }, OCI_TYPES.manifest);
    await using wasm = await startTestConverter({ maxModuleBytes: 4096 * KIB });
    expect(await wasm.reason({ url: `oci://${registry.host}/org/app:v1` })).toContain(error);
    expect(readdirSync(wasm.directory)).toEqual([]);
  });

  test.each(["/etc/plugin.wasm", "../../../plugin.wasm", "./plugin.wasm", "a/b/../plugin.wasm"])(
    "a plugin that calls itself %s is the one file in the cache",
    async (name) => {
      await using registry = await startOciRegistry();
      const link = { name: "plugin.wasm", type: "2" };
      const layers = [registry.addBlob(OCI_TYPES.layer, buildTarGz([link, { name, data: module }]))];
      const digest = registry.addManifest("org/app", "v1", { schemaVersion: 2, layers }, OCI_TYPES.manifest);
      await using wasm = await startTestConverter();
      const path = await wasm.load({ url: `oci://${registry.host}/org/app:v1` });
      expect(path.startsWith(`${wasm.directory}/`)).toBe(true);
      expect(readdirSync(dirname(path)).sort()).toEqual([`${hex(digest)}.sha256`, `${hex(digest)}.wasm`]);
    },
  );

  test("an index leads to the machine's platform, pinned by its digest or the image's", async () => {
    await using registry = await startOciRegistry();
    const wrong = registry.push("org/app", "wrong", wasmModule("other"));
    const right = registry.push("org/app", "right", module);
    const entry = (digest: string, os: string) => ({
      mediaType: OCI_TYPES.manifest,
      digest,
      size: 1,
      platform: { os, architecture: "amd64" },
    });
    const index = {
      schemaVersion: 2,
      mediaType: OCI_TYPES.index,
      manifests: [entry(wrong, "windows"), entry(right, "linux")],
    };
    const indexDigest = registry.addManifest("org/app", "multi", index, OCI_TYPES.index);
    await using wasm = await startTestConverter();
    const path = await wasm.load({ url: `oci://${registry.host}/org/app:multi` });
    expect(path).toContain(hex(right));
    expect(await wasm.load({ url: `oci://${registry.host}/org/app@${indexDigest}` })).toBe(path);
    const pulled = registry.requests.length;
    expect(await wasm.load({ url: `oci://${registry.host}/org/app@${indexDigest}` })).toBe(path);
    expect(await wasm.load({ url: `oci://${registry.host}/org/app@${right}` })).toBe(path);
    expect(registry.requests.length).toBe(pulled);
    expect(blobRequests(registry)).toBe(1);
  });
});

describe("content that is not what it says", () => {
  test("a manifest with another digest than asked for", async () => {
    await using registry = await startOciRegistry();
    const digest = registry.push("org/app", "v1", module);
    registry.intercept((request, response) => {
      if (!request.url?.includes("/manifests/")) return false;
      response.writeHead(200, { "content-type": OCI_TYPES.manifest }).end('{"layers":[]}');
      return true;
    });
    await using wasm = await startTestConverter();
    const reason = await wasm.reason({ url: `oci://${registry.host}/org/app@${digest}` });
    expect(reason).toContain("could not fetch Wasm OCI image: could not fetch manifest: manifest digest");
    expect(wasm.metrics()).toContain('{result="manifest_failure"} 1');
  });

  test("a blob with another digest than the manifest names", async () => {
    await using registry = await startOciRegistry();
    registry.push("org/app", "v1", module, "artifact");
    registry.content.set(digestOf(module), wasmModule("something else"));
    await using wasm = await startTestConverter();
    const reason = await wasm.reason({ url: `oci://${registry.host}/org/app:v1` });
    expect(reason).toContain(`layer ${digestOf(module)} came with the digest`);
    expect(wasm.metrics()).toContain('{result="download_failure"} 1');
  });

  test("a layer that is too large is not even asked for, or cut off when it lies", async () => {
    await using registry = await startOciRegistry();
    const big = Buffer.concat([module, Buffer.alloc(5000)]);
    registry.push("org/app", "honest", big, "artifact");
    const lie = { ...registry.addBlob(OCI_TYPES.artifactLayer, big), size: 10 };
    const layers = [registry.addBlob(OCI_TYPES.artifactConfig, Buffer.from("{}")), lie];
    registry.addManifest("org/app", "lying", { schemaVersion: 2, layers }, OCI_TYPES.manifest);
    await using wasm = await startTestConverter({ maxModuleBytes: 4096 });
    expect(await wasm.reason({ url: `oci://${registry.host}/org/app:honest` })).toContain("more than the allowed 4096");
    expect(blobRequests(registry)).toBe(0);
    expect(await wasm.reason({ url: `oci://${registry.host}/org/app:lying` })).toContain(
      "larger than the allowed 4096",
    );
  });

  test.each(["oci://", "oci://127.0.0.1:1/UPPER", "oci://127.0.0.1:1/../x", "oci://127.0.0.1:1/a:b:c"])(
    "%s is no image",
    async (url) => {
      await using wasm = await startTestConverter();
      expect(await wasm.reason({ url })).toContain("could not parse image reference");
    },
  );

  test("a registry that fails now and then is asked again", async () => {
    await using registry = await startOciRegistry();
    registry.push("org/app", "v1", module);
    registry.failNext(2, 503);
    await using wasm = await startTestConverter();
    expect(await wasm.load({ url: `oci://${registry.host}/org/app:v1` })).toContain(".wasm");
    registry.failNext(10, 404);
    expect(await wasm.reason({ url: `oci://${registry.host}/org/missing:v1` })).toContain("unexpected status code 404");
  });

  test("a layer whose connection breaks is asked for again", async () => {
    await using registry = await startOciRegistry();
    registry.push("org/app", "v1", module);
    let broken = 0;
    registry.intercept((request, response) => {
      if (!request.url?.includes("/blobs/") || broken > 0) return false;
      broken += 1;
      response.writeHead(200, { "content-length": 1000 });
      response.write("begin", () => response.destroy());
      return true;
    });
    await using wasm = await startTestConverter();
    expect(await wasm.load({ url: `oci://${registry.host}/org/app:v1` })).toContain(".wasm");
    expect(blobRequests(registry)).toBe(2);
  });

  test("without time the registry is not asked", async () => {
    await using registry = await startOciRegistry();
    registry.push("org/app", "v1", module);
    await using wasm = await startTestConverter();
    expect(await wasm.reason({ url: `oci://${registry.host}/org/app:v1`, timeout: "0s" })).toContain(
      `Get "https://${registry.host}/v2/": deadline exceeded`,
    );
    expect(registry.requests).toEqual([]);
  });
});

describe("credentials", () => {
  test.each([
    { what: "basic", registryAuth: { kind: "basic", ...credentials } as const, entry: { auth } },
    {
      what: "a token for basic credentials",
      registryAuth: { kind: "bearer", ...credentials } as const,
      entry: { auth },
    },
    { what: "an anonymous token", registryAuth: { kind: "bearer" } as const, entry: undefined },
    {
      what: "a token for an identity token",
      registryAuth: { kind: "bearer", refreshToken: "refresh" } as const,
      entry: { identitytoken: "refresh" },
    },
    {
      what: "a registry token",
      registryAuth: { kind: "bearer", user: "nobody" } as const,
      entry: { registrytoken: "token-of-the-registry" },
    },
  ])("$what", async ({ registryAuth, entry }) => {
    await using registry = await startOciRegistry({ auth: registryAuth });
    registry.push("org/app", "v1", module);
    await using wasm = await startTestConverter();
    const env = entry === undefined ? {} : { env: dockerConfig(registry.host, entry) };
    expect(await wasm.load({ url: `oci://${registry.host}/org/app:v1`, ...env })).toContain(".wasm");
  });

  test("without a pull secret those of the machine's docker configuration are used", async () => {
    await using registry = await startOciRegistry({ auth: { kind: "basic", ...credentials } });
    registry.push("org/app", "v1", module);
    const url = `oci://${registry.host}/org/app:v1`;
    const folder = mkdtempSync(join(tmpdir(), "docker-config-"));
    const dockerConfigPath = join(folder, "config.json");
    await using wasm = await startTestConverter({ dockerConfigPath });
    expect(await wasm.reason({ url })).toContain("status code 401");
    writeFileSync(dockerConfigPath, JSON.stringify({ auths: { [registry.host]: { auth } } }));
    expect(await wasm.load({ url })).toContain(".wasm");
    rmSync(folder, { recursive: true });
  });

  test("wrong ones fail the module and stay out of the log", async () => {
    await using registry = await startOciRegistry({ auth: { kind: "basic", user: "user", password: "right" } });
    registry.push("org/app", "v1", module);
    await using wasm = await startTestConverter();
    const url = `oci://${registry.host}/org/app:v1`;
    expect(await wasm.reason({ url, env: dockerConfig(registry.host, { auth }) })).toContain("status code 401");
    expect(await wasm.reason({ url })).toContain("status code 401");
    expect(await wasm.reason({ url, env: { ISTIO_META_WASM_IMAGE_PULL_SECRET: "pass:word" } })).toContain(
      "not a JSON document",
    );
    expect(await wasm.reason({ url, env: { ISTIO_META_WASM_IMAGE_PULL_SECRET: "null" } })).toContain("pull secret");
    expect(wasm.errors.join()).not.toContain("pass:word");
    expect(wasm.errors.join()).not.toContain(auth);
  });

  test.each(["http://169.254.169.254/token", "http://127.0.0.1:1/token", "http://localhost/token", "file:///token"])(
    "a registry cannot send its clients to %s",
    async (realm) => {
      await using registry = await startOciRegistry({ auth: { kind: "bearer", realm } });
      registry.push("org/app", "v1", module);
      await using wasm = await startTestConverter();
      expect(await wasm.reason({ url: `oci://${registry.host}/org/app:v1` })).toContain("rejected unsafe bearer realm");
    },
  );

  test.each([
    'Bearer realm="https://auth.test/t", Bearer realm="http://10.0.0.1/t"',
    'Bearer realm="http://10.0.0.1/t", Bearer realm="https://auth.test/t"',
  ])("one bad realm among several is enough: %s", async (challenge) => {
    await using registry = await startOciRegistry();
    registry.intercept((_request, response) => {
      response.writeHead(401, { "www-authenticate": challenge.split(", ") }).end();
      return true;
    });
    await using wasm = await startTestConverter();
    expect(await wasm.reason({ url: `oci://${registry.host}/org/app:v1` })).toContain("its host is 10.0.0.1");
  });

  test("a realm whose name leads to a forbidden address is stopped when it is dialled", async () => {
    await using registry = await startOciRegistry({ auth: { kind: "bearer", realm: "http://auth.test/token" } });
    const resolve = async () => [{ address: "169.254.169.254", family: 4 }];
    await using wasm = await startTestConverter({ resolve });
    expect(await wasm.reason({ url: `oci://${registry.host}/org/app:v1` })).toContain("auth.test (169.254.169.254)");
  });

  test("a token service elsewhere is asked; with credentials only over TLS or where plain http is allowed", async () => {
    await using tokens = await startOciRegistry({ auth: { kind: "bearer", ...credentials } });
    const realm = `http://auth.test:${tokens.port}/token`;
    await using registry = await startOciRegistry({ auth: { kind: "bearer", realm } });
    registry.push("org/app", "v1", module);
    const resource = { url: `oci://${registry.host}/org/app:v1`, env: dockerConfig(registry.host, { auth }) };
    await using strict = await startTestConverter({ resolve: loopback });
    expect(await strict.reason(resource)).toContain("credentials are not sent over plain http");
    expect(tokens.requests).toEqual([]);
    await using listed = await startTestConverter({
      resolve: loopback,
      insecureRegistries: [`auth.test:${tokens.port}`],
    });
    expect(await listed.load(resource)).toContain(".wasm");
  });

  test.each([301, 302, 303, 307, 308])(
    "a token service that redirects (%i) leads no refresh token elsewhere",
    async (status) => {
      const seen: string[] = [];
      await using elsewhere = await startHttpServer(async (request, response) => {
        let body = "";
        for await (const chunk of request) body += String(chunk);
        seen.push(`${request.method} ${request.headers.authorization} ${body}`);
        response.end('{"token":"foreign"}');
      });
      await using registry = await startOciRegistry({ auth: { kind: "bearer", refreshToken: "refresh" } });
      registry.push("org/app", "v1", module);
      registry.intercept((request, response) => {
        if (request.url?.startsWith("/token") !== true) return false;
        response.writeHead(status, { location: `http://127.0.0.1:${elsewhere.port}/token` }).end();
        return true;
      });
      await using wasm = await startTestConverter();
      const env = dockerConfig(registry.host, { identitytoken: "refresh" });
      const why = status >= 307 ? "must not see what is posted" : "status code 401";
      expect(await wasm.reason({ url: `oci://${registry.host}/org/app:v1`, env })).toContain(why);
      expect([...new Set(seen)]).toEqual(status >= 307 ? [] : ["GET undefined "]);
    },
  );

  test("another host that hands out blobs does not see the credentials", async () => {
    const seen: (string | undefined)[] = [];
    let blobs: ReadonlyMap<string, Buffer> = new Map();
    await using store = await startHttpServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end(blobs.get(request.url?.slice(1) ?? ""));
    });
    await using registry = await startOciRegistry({
      auth: { kind: "basic", ...credentials },
      blobStore: (digest) => `http://127.0.0.1:${store.port}/${digest}`,
    });
    registry.push("org/app", "v1", module);
    blobs = registry.content;
    await using wasm = await startTestConverter();
    const env = dockerConfig(registry.host, { auth });
    expect(await wasm.load({ url: `oci://${registry.host}/org/app:v1`, env })).toContain(".wasm");
    expect(seen).toEqual([undefined]);
  });
});

describe("plain http", () => {
  test("is spoken with loopback hosts and listed ones only, never by fallback", async () => {
    await using registry = await startOciRegistry();
    registry.push("org/app", "v1", module);
    const url = `oci://registry.test:${registry.port}/org/app:v1`;
    await using strict = await startTestConverter({ resolve: loopback });
    await strict.reason({ url });
    expect(registry.requests).toEqual([]);
    await using listed = await startTestConverter({
      resolve: loopback,
      insecureRegistries: [`registry.test:${registry.port}`],
    });
    expect(await listed.load({ url })).toContain(".wasm");
    expect(await strict.load({ url: `oci://localhost:${registry.port}/org/app:v1` })).toContain(".wasm");
  });

  test("a registry cannot lead its clients from TLS to plain http elsewhere", async () => {
    await using registry = await startOciRegistry({ blobStore: () => "http://store.test/blob" });
    registry.push("org/app", "v1", module);
    await using wasm = await startTestConverter({ resolve: loopback });
    expect(await wasm.reason({ url: `oci://${registry.host}/org/app:v1` })).toContain(
      "plain http to store.test is not allowed",
    );
  });
});

describe("TLS", () => {
  beforeEach(needs("openssl"));

  test("certificates are verified unless the registry is listed", async () => {
    const certs = opensslCertificates();
    await using registry = await startOciRegistry({ tls: certs.server });
    registry.push("org/app", "v1", module);
    const url = `oci://${registry.host}/org/app:v1`;
    await using strict = await startTestConverter();
    expect(await strict.reason({ url })).toMatch(/could not fetch manifest/);
    expect(registry.requests).toEqual([]);
    await using trusting = await startTestConverter({ ca: certs.ca });
    expect(await trusting.load({ url })).toContain(".wasm");
    await using listed = await startTestConverter({ insecureRegistries: [registry.host] });
    expect(await listed.load({ url })).toContain(".wasm");
  });
});
