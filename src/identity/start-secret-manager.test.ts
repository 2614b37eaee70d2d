import { X509Certificate } from "node:crypto";
import { mkdir, readFile, rename, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createTestCa, createTestCaClient, SPIFFE_ID, validFor } from "../../test/support/sds-certificates.ts";
import {
  managerOptions,
  recordingLogger,
  type TemporaryDirectory,
  temporaryDirectory,
  until,
} from "../../test/support/sds-manager.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { splitBundle } from "./core/trust-bundle.ts";
import type { SecretManagerOptions } from "./secret-manager-options.ts";
import type { KeyPairSecret, TrustBundleSecret } from "./secrets.ts";
import { type SecretManager, startSecretManager } from "./start-secret-manager.ts";

const ca = await createTestCa();
const otherCa = await createTestCa("other.example");
let directory: TemporaryDirectory;
let managers: SecretManager[] = [];

beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(async () => {
  for (const manager of managers) await manager.stop();
  managers = [];
  await directory[Symbol.asyncDispose]();
});

const at = (...parts: string[]) => join(directory.path, ...parts);

async function start(
  given: Partial<SecretManagerOptions> & Pick<SecretManagerOptions, "caClient">,
  registry?: MetricRegistry,
): Promise<SecretManager> {
  const manager = await startSecretManager(managerOptions(given, registry));
  managers.push(manager);
  return manager;
}

const pair = async (manager: SecretManager, name = "default") => (await manager.get(name)) as KeyPairSecret;
const roots = async (manager: SecretManager, name = "ROOTCA") => (await manager.get(name)) as TrustBundleSecret;

/** Counts the calls for one name. */
function changes(manager: SecretManager, name: string): { count: number } {
  const seen = { count: 0 };
  manager.onChange(name, () => {
    seen.count += 1;
  });
  return seen;
}

describe("certificates from the CA", () => {
  test("default and ROOTCA come from one CSR", async () => {
    const client = createTestCaClient(ca);
    const manager = await start({ caClient: client });
    const [first, bundle, again] = [await pair(manager), await roots(manager), await pair(manager)];
    expect(client.calls).toBe(1);
    expect(again.version).toBe(first.version);
    expect(splitBundle(first.certificateChain.toString())).toHaveLength(2);
    expect(new X509Certificate(first.certificateChain).subjectAltName).toBe(`URI:${SPIFFE_ID}`);
    expect(bundle.roots.toString()).toBe(ca.rootPem.trim());
  });

  test("the certificate is issued without anybody asking", async () => {
    const client = createTestCaClient(ca);
    await start({ caClient: client });
    await until("the CSR is sent", () => client.calls === 1);
  });

  test("a short certificate is renewed at half life, and listeners are told", async () => {
    const client = createTestCaClient(ca, 400);
    const manager = await start({ caClient: client });
    const first = await pair(manager);
    const seen = changes(manager, "default");
    await until("two renewals", () => seen.count >= 2);
    expect((await pair(manager)).version).not.toBe(first.version);
  });

  test("an unchanged root is not announced with a renewal, a new one is", async () => {
    const client = createTestCaClient(ca, 300);
    const manager = await start({ caClient: client });
    await pair(manager);
    const seen = { default: changes(manager, "default"), ROOTCA: changes(manager, "ROOTCA") };
    await until("a renewal", () => seen.default.count > 0);
    expect(seen.ROOTCA.count).toBe(0);
    client.ca = otherCa;
    await until("the new root is announced", () => seen.ROOTCA.count > 0);
    expect((await roots(manager)).roots.toString()).toBe(otherCa.rootPem.trim());
  });

  test("with the CA down at the start the manager keeps trying, says why, and serves when it is back", async () => {
    const client = createTestCaClient(ca);
    client.answer = () => Promise.reject(new Error("CA at ca.test:15012: connection refused"));
    const log = recordingLogger();
    const manager = await start({ caClient: client, log });
    await expect(manager.get("default")).rejects.toMatchObject({
      code: "not-issued",
      message: "failed to generate workload certificate: CA at ca.test:15012: connection refused",
    });
    await until("several attempts", () => client.calls >= 3);
    await expect(manager.unavailableReason()).resolves.toContain("connection refused");
    expect(log.lines.join("\n")).toContain("failed to warm certificate: failed to generate workload certificate");
    client.answer = undefined;
    await until("a certificate", async () => (await manager.unavailableReason()) === undefined);
  });

  test("with the CA hanging other secrets are served, and the wait has an end", async () => {
    const client = createTestCaClient(ca);
    client.answer = () => new Promise(() => undefined);
    const { cert, key } = await ca.pair(["a.test"]);
    await writeFile(at("c"), cert);
    await writeFile(at("k"), key);
    const manager = await start({ caClient: client, tuning: { issueTimeoutMs: 150 } });
    const waiting = expect(manager.get("default")).rejects.toThrow("the CA gave no answer within 150 ms");
    await expect(pair(manager, `file-cert:${at("c")}~${at("k")}`)).resolves.toMatchObject({ kind: "key-pair" });
    await waiting;
  });

  test("a key algorithm nobody knows fails each request and not the start", async () => {
    const manager = await start({ caClient: createTestCaClient(ca), key: { type: "unsupported-ec-algorithm" } });
    await expect(manager.get("default")).rejects.toThrow(
      "failed to generate workload certificate: csr cert generation fails due to unsupported EC signature algorithm",
    );
  });

  test("without a CA client the workload's names fail with the known text", async () => {
    const manager = await start({ caClient: undefined });
    for (const name of ["default", "ROOTCA"]) {
      await expect(manager.get(name)).rejects.toThrow(
        "failed to generate workload certificate: attempted to fetch secret, but ca client is nil",
      );
    }
  });
});

describe("names", () => {
  const bad = ["foo", "", "file:x", "file-root:", "file-cert:~", "file-cert:a~", "file-cert:a~b~c", "file-root:a~b"];

  test.each(bad)("%j never gets the workload's key", async (name) => {
    const manager = await start({ caClient: createTestCaClient(ca) });
    await pair(manager);
    await expect(manager.get(name)).rejects.toMatchObject({ code: "unknown-name" });
    manager.onChange(name, () => undefined)();
  });

  test.each(bad)("%j gets it when the behaviour of earlier agents is chosen", async (name) => {
    const manager = await start({ caClient: createTestCaClient(ca), unknownNames: "workload" });
    const [own, other] = [await pair(manager), await pair(manager, name)];
    expect(other).toEqual({ ...own, name });
  });
});

describe("the trust bundle", () => {
  test("roots of the mesh configuration are merged without a new CSR, and announced when they change", async () => {
    const client = createTestCaClient(ca);
    const manager = await start({ caClient: client });
    const own = await roots(manager);
    const seen = { ROOTCA: changes(manager, "ROOTCA"), default: changes(manager, "default") };
    manager.setConfigTrustBundle([otherCa.rootPem]);
    manager.setConfigTrustBundle([otherCa.rootPem.trim()]);
    expect(seen.ROOTCA.count).toBe(1);
    const merged = splitBundle((await roots(manager)).roots.toString());
    expect(new Set(merged)).toEqual(new Set([ca.rootPem.trim(), otherCa.rootPem.trim()]));
    expect(merged).toEqual([...merged].sort());
    manager.setConfigTrustBundle([]);
    expect((await roots(manager)).version).toBe(own.version);
    expect(client.calls).toBe(1);
    expect(seen.default.count).toBe(0);
  });

  test("a list of revoked certificates that appears later is announced with every bundle", async () => {
    await writeFile(at("root"), ca.rootPem);
    const manager = await start({ caClient: createTestCaClient(ca), crlPath: at("crl", "ca-crl.pem") });
    expect((await roots(manager)).crlPath).toBeUndefined();
    const seen = { ROOTCA: changes(manager, "ROOTCA"), file: changes(manager, `file-root:${at("root")}`) };
    await until("the file is watched", () => seen.file.count === 1);
    await mkdir(at("crl"));
    await writeFile(at("crl", "ca-crl.pem"), "list");
    await until("both are announced", () => seen.ROOTCA.count > 0 && seen.file.count > 1);
    expect((await roots(manager)).crlPath).toBe(at("crl", "ca-crl.pem"));
    expect((await roots(manager, `file-root:${at("root")}`)).crlPath).toBe(at("crl", "ca-crl.pem"));
  });
});

describe("files", () => {
  test("a pair is served byte for byte, a bundle re-encoded", async () => {
    const { cert, key } = await ca.pair(["a.test"]);
    await writeFile(at("c"), `# mine\n${cert}`);
    await writeFile(at("k"), key);
    await writeFile(at("r"), `# ours\n${ca.rootPem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`);
    const log = recordingLogger();
    const manager = await start({ caClient: undefined, log });
    const served = await pair(manager, `file-cert:${at("c")}~${at("k")}`);
    expect(served.certificateChain.toString()).toBe(`# mine\n${cert}`);
    expect(served.privateKey.reveal().toString()).toBe(key);
    expect((await roots(manager, `file-root:${at("r")}`)).roots.toString()).toBe(ca.rootPem);
    expect(log.lines.join("\n")).toContain(`failed to parse some certs from file ${at("r")}`);
  });

  test.each([
    {
      what: "a missing file",
      name: () => `file-root:${at("gone")}`,
      says: () => `open ${at("gone")}: no such file or directory`,
    },
    { what: "a directory", name: () => `file-root:${at()}`, says: () => `read ${at()}: is a directory` },
    { what: "a device", name: () => "file-root:/dev/zero", says: () => "read /dev/zero: not a regular file" },
    {
      what: "an empty file",
      name: () => `file-root:${at("empty")}`,
      says: () => `failed to parse root certs from file ${at("empty")}: []`,
    },
    { what: "plain text", name: () => `file-root:${at("text")}`, says: () => "[invalid PEM encoded certificate]" },
    {
      what: "a mismatched pair",
      name: () => `file-cert:${at("c")}~${at("k2")}`,
      says: () => "tls: private key does not match public key",
    },
    {
      what: "a pair without PEM",
      name: () => `file-cert:${at("text")}~${at("k2")}`,
      says: () => "tls: failed to find any PEM data in certificate input",
    },
    {
      what: "a broken key",
      name: () => `file-cert:${at("c")}~${at("broken")}`,
      says: () => "tls: failed to parse private key",
    },
  ])("$what fails after the wait, is counted, and shows no key", async ({ name, says }) => {
    const [first, second] = [await ca.pair(["a.test"]), await ca.pair(["a.test"])];
    await writeFile(at("c"), first.cert);
    await writeFile(at("k2"), second.key);
    await writeFile(at("empty"), "");
    await writeFile(at("text"), "text");
    await writeFile(at("broken"), second.key.replace(/\n[A-Za-z0-9+/]{10}/, "\nAAAAAAAAAA"));
    const registry = new MetricRegistry();
    const log = recordingLogger();
    const manager = await start({ caClient: undefined, fileWaitMs: 100, log }, registry);
    const failure = await manager.get(name()).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "bad-file" });
    const text = (failure as Error).message;
    expect(text).toContain(`context deadline exceeded with last error: ${says().startsWith("[") ? "" : says()}`);
    expect(text).toContain(says());
    const keyBody = second.key.split("\n")[2] ?? "";
    expect(keyBody.length).toBeGreaterThan(20);
    expect(text + log.lines.join("\n")).not.toContain(keyBody);
    expect(registry.render()).toContain("istio_agent_num_file_secret_failures_total 1");
  });

  test("a file that appears within the wait is served", async () => {
    const manager = await start({ caClient: undefined, fileWaitMs: 5000 });
    const waiting = roots(manager, `file-root:${at("r")}`);
    await writeFile(at("r"), ca.rootPem);
    expect((await waiting).roots.toString()).toBe(ca.rootPem);
  });

  test("file-root:system is the operating system's bundle, and an error where there is none", async () => {
    await writeFile(at("bundle"), ca.rootPem);
    const found = await start({ caClient: createTestCaClient(ca), systemRootPaths: [at("no"), at("bundle")] });
    expect((await roots(found, "file-root:system")).roots.toString()).toBe(ca.rootPem);
    const none = await start({ caClient: createTestCaClient(ca), systemRootPaths: [], fileWaitMs: 30 });
    await expect(none.get("file-root:system")).rejects.toThrow("the operating system has no CA bundle");
  });

  test("a watched pair is announced when it is complete, and not watched any more when nobody listens", async () => {
    const [first, second] = [await ca.pair(["a.test"]), await ca.pair(["a.test"])];
    await writeFile(at("c"), first.cert);
    await writeFile(at("k"), first.key);
    const manager = await start({ caClient: undefined });
    const name = `file-cert:${at("c")}~${at("k")}`;
    const seen = { count: 0 };
    const end = manager.onChange(name, () => {
      seen.count += 1;
    });
    await until("the watch is set", () => seen.count === 1);
    await writeFile(at("k.new"), second.key);
    await rename(at("k.new"), at("k"));
    await writeFile(at("c.new"), second.cert);
    await rename(at("c.new"), at("c"));
    await until("the change is announced", () => seen.count === 2);
    expect((await pair(manager, name)).certificateChain.toString()).toBe(second.cert);
    end();
    end();
    await expect(manager.describeCertificates()).resolves.toEqual([]);
  });
});

describe("mounted certificates", () => {
  const existing = () => ({
    certificateChain: at("certs", "cert-chain.pem"),
    key: at("certs", "key.pem"),
    root: at("certs", "root-cert.pem"),
  });

  async function mount(from = ca): Promise<void> {
    await mkdir(at("certs"), { recursive: true });
    const { cert, key } = await from.pair([SPIFFE_ID]);
    await writeFile(existing().key, key);
    await writeFile(existing().certificateChain, cert);
    await writeFile(existing().root, from.rootPem);
  }

  test("they are served instead of asking the CA", async () => {
    await mount();
    const client = createTestCaClient(otherCa);
    const manager = await start({ caClient: client, existing: existing() });
    expect((await pair(manager)).certificateChain.toString()).toBe(await readFile(existing().certificateChain, "utf8"));
    manager.setConfigTrustBundle([otherCa.rootPem]);
    expect(splitBundle((await roots(manager)).roots.toString())).toHaveLength(2);
    expect(client.calls).toBe(0);
  });

  test("they take over from the CA when they appear later", async () => {
    const manager = await start({ caClient: createTestCaClient(otherCa), existing: existing() });
    const issued = await pair(manager);
    const seen = { default: changes(manager, "default"), ROOTCA: changes(manager, "ROOTCA") };
    await mount();
    await until("both are announced", () => seen.default.count > 0 && seen.ROOTCA.count > 0);
    expect((await pair(manager)).version).not.toBe(issued.version);
    expect((await roots(manager)).roots.toString()).toBe(ca.rootPem.trim());
  });

  test("a file once seen is waited for when it vanishes, the CA is not asked, and its return is announced", async () => {
    await mount();
    const client = createTestCaClient(otherCa);
    const manager = await start({ caClient: client, existing: existing(), fileWaitMs: 100 });
    await pair(manager);
    const seen = changes(manager, "default");
    await unlink(existing().certificateChain);
    await until("the deletion is announced", () => seen.count === 1);
    await expect(manager.get("default")).rejects.toThrow("no such file or directory");
    await mount();
    await until("the return is announced", () => seen.count >= 2);
    await expect(pair(manager)).resolves.toMatchObject({ kind: "key-pair" });
    expect(client.calls).toBe(0);
  });

  test("in the output directory they are output, not input", async () => {
    await mount();
    const client = createTestCaClient(otherCa);
    const output = { directory: at("certs"), readableByAll: false };
    const manager = await start({ caClient: client, existing: existing(), output });
    await pair(manager);
    expect(client.calls).toBe(1);
    await manager.outputSettled();
    await until(
      "the issued root is written",
      async () => (await readFile(existing().root, "utf8")) === otherCa.rootPem.trim(),
    );
  });

  test("the volume swap of the platform is one change", async () => {
    await mount();
    await rename(at("certs"), at("v1"));
    await symlink("v1", at("certs"));
    const manager = await start({ caClient: undefined, existing: existing() });
    const before = await pair(manager);
    const seen = changes(manager, "default");
    await mkdir(at("v2"));
    const { cert, key } = await otherCa.pair([SPIFFE_ID]);
    await writeFile(at("v2", "cert-chain.pem"), cert);
    await writeFile(at("v2", "key.pem"), key);
    await writeFile(at("v2", "root-cert.pem"), otherCa.rootPem);
    await symlink("v2", at("certs.new"));
    await rename(at("certs.new"), at("certs"));
    await until("the swap is announced", () => seen.count === 1);
    expect((await pair(manager)).version).not.toBe(before.version);
  });
});

describe("output and operators", () => {
  test("key, chain and merged roots are written and follow each renewal", async () => {
    const client = createTestCaClient(ca, 400);
    const manager = await start({ caClient: client, output: { directory: at("out"), readableByAll: false } });
    manager.setConfigTrustBundle([otherCa.rootPem]);
    const first = await pair(manager);
    const read = (name: string) => readFile(at("out", name), "utf8").catch(() => "");
    await until(
      "the chain is written",
      async () => (await read("cert-chain.pem")) === first.certificateChain.toString(),
    );
    await until("the roots are written", async () => splitBundle(await read("root-cert.pem")).length === 2);
    await until(
      "the next chain is written",
      async () => (await read("cert-chain.pem")) !== first.certificateChain.toString(),
    );
  });

  test("a certificate of an earlier run is served while the CA is down", async () => {
    const output = { directory: at("out"), readableByAll: false, reuse: true };
    const first = await start({ caClient: createTestCaClient(ca), output });
    const saved = await pair(first);
    await until("it is written", async () => (await readFile(at("out", "key.pem"), "utf8").catch(() => "")) !== "");
    await first.stop();
    const client = createTestCaClient(ca);
    client.answer = () => Promise.reject(new Error("down"));
    const second = await start({ caClient: client, output });
    expect((await pair(second)).version).toBe(saved.version);
    await expect(second.describeCertificates()).resolves.toMatchObject([{ source: "saved" }, {}]);
    client.answer = undefined;
    await until("the CA's is served", async () => (await pair(second)).version !== saved.version);
  });

  test("operators see serial, names, validity, rotation and source, and never a key", async () => {
    const registry = new MetricRegistry();
    const manager = await start({ caClient: createTestCaClient(ca) }, registry);
    const { privateKey } = await pair(manager);
    await writeFile(at("r"), ca.rootPem);
    manager.onChange(`file-root:${at("r")}`, () => undefined);
    const described = await manager.describeCertificates();
    expect(described.map(({ resource, source }) => [resource, source])).toEqual([
      ["default", "ca"],
      ["ROOTCA", "ca"],
      [`file-root:${at("r")}`, "file"],
    ]);
    const leaf = described[0]?.certificates[0];
    expect(leaf?.subjectAltNames).toEqual([`URI:${SPIFFE_ID}`]);
    expect(leaf?.serial).toMatch(/^[0-9a-f]+$/);
    const leftMs = Date.parse(described[0]?.nextRotation ?? "") - Date.now();
    expect(Math.abs(leftMs - 30 * 60_000)).toBeLessThan(60_000);
    expect(JSON.stringify(described)).not.toContain(privateKey.reveal().toString().split("\n")[1]);
    expect(registry.render()).toMatch(/istio_agent_cert_expiry_seconds\{resource_name="default"\} 3[56]\d\d/);
    expect(registry.render()).toContain('istio_agent_num_outgoing_requests{request_type="csr"} 1');
  });

  test("an expired certificate and a first issuance that fails are shown too", async () => {
    const client = createTestCaClient(ca);
    client.answer = () => Promise.reject(new Error("CA is down"));
    const manager = await start({ caClient: client });
    await until("the failure shows", async () => (await manager.describeCertificates())[0]?.lastFailure !== undefined);
    expect((await manager.describeCertificates())[0]).toMatchObject({ resource: "default", certificates: [] });
    client.ttlMs = -1000;
    client.answer = undefined;
    await until("it shows", async () => (await manager.describeCertificates())[0]?.certificates.length === 2);
  });

  test("a CA that sends no root is refused", async () => {
    const client = createTestCaClient(ca);
    client.answer = async () => ({ chain: ["x"], roots: [], notBefore: new Date(), notAfter: new Date() });
    const manager = await start({ caClient: client });
    await expect(manager.get("default")).rejects.toThrow("the CA's answer holds no root certificate");
  });

  test("a failed renewal shows in the description while the old certificate is served", async () => {
    const client = createTestCaClient(ca, 3000);
    const manager = await start({ caClient: client, renewal: { ratio: 0.95, jitter: 0 } });
    const before = await pair(manager);
    client.answer = () => Promise.reject(new Error("CA is down"));
    await until("the failure shows", async () => (await manager.describeCertificates())[0]?.lastFailure !== undefined);
    expect((await pair(manager)).version).toBe(before.version);
  });

  test("stopping twice, and while an issuance hangs, leaves nothing", async () => {
    const client = createTestCaClient(ca);
    client.answer = () => new Promise(() => undefined);
    const manager = await start({ caClient: client, output: { directory: at("out"), readableByAll: false } });
    const waiting = expect(manager.get("default")).rejects.toMatchObject({ code: "cancelled" });
    await manager.stop();
    await manager.stop();
    await waiting;
    await expect(manager.get("default")).rejects.toMatchObject({ code: "cancelled" });
  });

  test("a prepared key is used by the first CSR", async () => {
    const { generateWorkloadKey } = await import("./workload-key.ts");
    const keys = await generateWorkloadKey({ type: "ecdsa", curve: "P256" });
    const manager = await start({ caClient: createTestCaClient(ca), prepareKey: Promise.resolve(keys) });
    const { privateKey } = await pair(manager);
    expect(privateKey.reveal().toString()).toBe(keys.privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  });

  test("an expired certificate of a file is served as it is", async () => {
    const { cert, key } = await ca.pair(["a.test"], validFor(-1000));
    await writeFile(at("c"), cert);
    await writeFile(at("k"), key);
    const manager = await start({ caClient: undefined });
    await expect(pair(manager, `file-cert:${at("c")}~${at("k")}`)).resolves.toMatchObject({ kind: "key-pair" });
  });
});
