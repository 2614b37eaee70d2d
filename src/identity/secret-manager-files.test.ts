import { mkdir, readFile, rename, symlink, unlink, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createTestCa, createTestCaClient, SPIFFE_ID } from "../../test/support/certs/test-ca.ts";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { countChanges, keyPair, trustBundle, useManagers } from "../../test/support/sds/manager-harness.ts";
import { until } from "../../test/support/wait/until.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { splitBundle } from "./core/trust-bundle.ts";

const ca = await createTestCa();
const otherCa = await createTestCa("other.example");
const { at, start } = useManagers();

describe("files", () => {
  test("a pair is served byte for byte, a bundle re-encoded", async () => {
    const { cert, key } = await ca.pair(["a.test"]);
    await writeFile(at("c"), `# mine\n${cert}`);
    await writeFile(at("k"), key);
    await writeFile(at("r"), `# ours\n${ca.rootPem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`);
    const log = recordLog();
    const manager = await start({ caClient: undefined, log });
    const served = await keyPair(manager, `file-cert:${at("c")}~${at("k")}`);
    expect(served.certificateChain.toString()).toBe(`# mine\n${cert}`);
    expect(served.privateKey.reveal().toString()).toBe(key);
    expect((await trustBundle(manager, `file-root:${at("r")}`)).roots.toString()).toBe(ca.rootPem);
    expect(log.printed.join("\n")).toContain(`failed to parse some certs from file ${at("r")}`);
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
    const log = recordLog();
    const manager = await start({ caClient: undefined, fileWaitMs: 100, log }, registry);
    const failure = await manager.get(name()).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "bad-file" });
    const text = (failure as Error).message;
    expect(text).toContain(`context deadline exceeded with last error: ${says().startsWith("[") ? "" : says()}`);
    expect(text).toContain(says());
    const keyBody = second.key.split("\n")[2] ?? "";
    expect(keyBody.length).toBeGreaterThan(20);
    expect(text + log.printed.join("\n")).not.toContain(keyBody);
    expect(registry.render()).toContain("istio_agent_num_file_secret_failures_total 1");
  });

  test("a file that appears within the wait is served", async () => {
    const manager = await start({ caClient: undefined, fileWaitMs: 5000 });
    const waiting = trustBundle(manager, `file-root:${at("r")}`);
    await writeFile(at("r"), ca.rootPem);
    expect((await waiting).roots.toString()).toBe(ca.rootPem);
  });

  test("file-root:system is the operating system's bundle, and an error where there is none", async () => {
    await writeFile(at("bundle"), ca.rootPem);
    const found = await start({ caClient: createTestCaClient(ca), systemRootPaths: [at("no"), at("bundle")] });
    expect((await trustBundle(found, "file-root:system")).roots.toString()).toBe(ca.rootPem);
    const none = await start({ caClient: createTestCaClient(ca), systemRootPaths: [], fileWaitMs: 30 });
    await expect(none.get("file-root:system")).rejects.toThrow("the operating system has no CA bundle");
  });

  test("a watched pair is announced when it is complete, and not watched any more when no one listens", async () => {
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
    expect((await keyPair(manager, name)).certificateChain.toString()).toBe(second.cert);
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
    expect((await keyPair(manager)).certificateChain.toString()).toBe(
      await readFile(existing().certificateChain, "utf8"),
    );
    manager.setConfigTrustBundle([otherCa.rootPem]);
    expect(splitBundle((await trustBundle(manager)).roots.toString())).toHaveLength(2);
    expect(client.calls).toBe(0);
  });

  test("they take over from the CA when they appear later", async () => {
    const manager = await start({ caClient: createTestCaClient(otherCa), existing: existing() });
    const issued = await keyPair(manager);
    const seen = { default: countChanges(manager, "default"), ROOTCA: countChanges(manager, "ROOTCA") };
    await mount();
    await until("both are announced", () => seen.default.count > 0 && seen.ROOTCA.count > 0);
    expect((await keyPair(manager)).version).not.toBe(issued.version);
    expect((await trustBundle(manager)).roots.toString()).toBe(ca.rootPem.trim());
  });

  test("a file once seen is waited for when it vanishes, the CA is not asked, and its return is announced", async () => {
    await mount();
    const client = createTestCaClient(otherCa);
    const manager = await start({ caClient: client, existing: existing(), fileWaitMs: 100 });
    await keyPair(manager);
    const seen = countChanges(manager, "default");
    await unlink(existing().certificateChain);
    await until("the deletion is announced", () => seen.count === 1);
    await expect(manager.get("default")).rejects.toThrow("no such file or directory");
    await mount();
    await until("the return is announced", () => seen.count >= 2);
    await expect(keyPair(manager)).resolves.toMatchObject({ kind: "key-pair" });
    expect(client.calls).toBe(0);
  });

  test("in the output directory they are output, not input", async () => {
    await mount();
    const client = createTestCaClient(otherCa);
    const output = { directory: at("certs"), readableByAll: false };
    const manager = await start({ caClient: client, existing: existing(), output });
    await keyPair(manager);
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
    const before = await keyPair(manager);
    const seen = countChanges(manager, "default");
    await mkdir(at("v2"));
    const { cert, key } = await otherCa.pair([SPIFFE_ID]);
    await writeFile(at("v2", "cert-chain.pem"), cert);
    await writeFile(at("v2", "key.pem"), key);
    await writeFile(at("v2", "root-cert.pem"), otherCa.rootPem);
    await symlink("v2", at("certs.new"));
    await rename(at("certs.new"), at("certs"));
    await until("the swap is announced", () => seen.count === 1);
    expect((await keyPair(manager)).version).not.toBe(before.version);
  });
});
