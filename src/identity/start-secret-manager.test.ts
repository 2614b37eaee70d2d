import { X509Certificate } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createTestCa, createTestCaClient, SPIFFE_ID } from "../../test/support/certs/test-ca.ts";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { countChanges, keyPair, trustBundle, useManagers } from "../../test/support/sds/manager-harness.ts";
import { until } from "../../test/support/wait/until.ts";
import { splitBundle } from "./core/trust-bundle.ts";

const ca = await createTestCa();
const otherCa = await createTestCa("other.example");
const { at, start } = useManagers();

describe("certificates from the CA", () => {
  test("default and ROOTCA come from one CSR", async () => {
    const client = createTestCaClient(ca);
    const manager = await start({ caClient: client });
    const [first, bundle, again] = [await keyPair(manager), await trustBundle(manager), await keyPair(manager)];
    expect(client.calls).toBe(1);
    expect(again.version).toBe(first.version);
    expect(splitBundle(first.certificateChain.toString())).toHaveLength(2);
    expect(new X509Certificate(first.certificateChain).subjectAltName).toBe(`URI:${SPIFFE_ID}`);
    expect(bundle.roots.toString()).toBe(ca.rootPem.trim());
  });

  test("an issuance is reported with its time and life, a changed root, and each answer from what is there", async () => {
    const log = recordLog();
    const client = createTestCaClient(ca, 3_600_000);
    const manager = await start({ caClient: client, log });
    await until("the certificate is there", () => log.printed.some((line) => line.includes("Root cert has changed")));
    await keyPair(manager);
    await trustBundle(manager);
    expect(log.printed).toEqual([
      expect.stringMatching(/^info generated new workload certificate/),
      "info Root cert has changed, start rotating root cert",
      expect.stringMatching(/^info returned workload certificate from cache/),
      expect.stringMatching(/^info returned workload trust anchor from cache/),
    ]);
  });

  test("the certificate is issued without anybody asking", async () => {
    const client = createTestCaClient(ca);
    await start({ caClient: client });
    await until("the CSR is sent", () => client.calls === 1);
  });

  test("a short certificate is renewed at half life, and listeners are notified", async () => {
    const client = createTestCaClient(ca, 400);
    const manager = await start({ caClient: client });
    const first = await keyPair(manager);
    const seen = countChanges(manager, "default");
    await until("two renewals", () => seen.count >= 2);
    expect((await keyPair(manager)).version).not.toBe(first.version);
  });

  test("an unchanged root is not announced with a renewal, a new one is", async () => {
    const client = createTestCaClient(ca, 300);
    const manager = await start({ caClient: client });
    await keyPair(manager);
    const seen = { default: countChanges(manager, "default"), ROOTCA: countChanges(manager, "ROOTCA") };
    await until("a renewal", () => seen.default.count > 0);
    expect(seen.ROOTCA.count).toBe(0);
    client.ca = otherCa;
    await until("the new root is announced", () => seen.ROOTCA.count > 0);
    expect((await trustBundle(manager)).roots.toString()).toBe(otherCa.rootPem.trim());
  });

  test("with the CA down at the start the manager keeps trying, says why, and serves when it is back", async () => {
    const client = createTestCaClient(ca);
    client.answer = () => Promise.reject(new Error("CA at ca.test:15012: connection refused"));
    const log = recordLog();
    const manager = await start({ caClient: client, log });
    await expect(manager.get("default")).rejects.toMatchObject({
      code: "not-issued",
      message: "failed to generate workload certificate: CA at ca.test:15012: connection refused",
    });
    await until("several attempts", () => client.calls >= 3);
    await expect(manager.unavailableReason()).resolves.toContain("connection refused");
    expect(log.printed.join("\n")).toContain("failed to warm certificate: failed to generate workload certificate");
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
    await expect(keyPair(manager, `file-cert:${at("c")}~${at("k")}`)).resolves.toMatchObject({ kind: "key-pair" });
    await waiting;
  });

  test("an unknown key algorithm fails each request and not the start", async () => {
    const manager = await start({ caClient: createTestCaClient(ca), key: { type: "unsupported-ec-algorithm" } });
    await expect(manager.get("default")).rejects.toThrow(
      "failed to generate workload certificate: csr cert generation fails due to unsupported EC signature algorithm",
    );
  });

  test("a key that takes minutes to make is refused before it is begun", async () => {
    const manager = await start({ caClient: createTestCaClient(ca), key: { type: "rsa", bits: 16_384 } });
    await expect(manager.get("default")).rejects.toThrow(
      "requested key size exceeds the maximum of 8192 (requested: 16384)",
    );
  });

  test("the stop does not wait for a key that is being made", async () => {
    const neverMade = new Promise<never>(() => undefined);
    const manager = await start({ caClient: createTestCaClient(ca), prepareKey: neverMade });
    const waiting = expect(manager.get("default")).rejects.toMatchObject({ code: "cancelled" });
    await manager.stop();
    await waiting;
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
    await keyPair(manager);
    await expect(manager.get(name)).rejects.toMatchObject({ code: "unknown-name" });
    manager.onChange(name, () => undefined)();
  });
});

describe("the trust bundle", () => {
  test("roots of the mesh configuration are merged without a new CSR, and announced when they change", async () => {
    const client = createTestCaClient(ca);
    const manager = await start({ caClient: client });
    const own = await trustBundle(manager);
    const seen = { ROOTCA: countChanges(manager, "ROOTCA"), default: countChanges(manager, "default") };
    manager.setConfigTrustBundle([otherCa.rootPem]);
    manager.setConfigTrustBundle([otherCa.rootPem.trim()]);
    expect(seen.ROOTCA.count).toBe(1);
    const merged = splitBundle((await trustBundle(manager)).roots.toString());
    expect(new Set(merged)).toEqual(new Set([ca.rootPem.trim(), otherCa.rootPem.trim()]));
    expect(merged).toEqual([...merged].sort());
    manager.setConfigTrustBundle([]);
    expect((await trustBundle(manager)).version).toBe(own.version);
    expect(client.calls).toBe(1);
    expect(seen.default.count).toBe(0);
  });

  test("a root of the mesh configuration that is none is left out and reported, so that proxies can use the others", async () => {
    const log = recordLog();
    const manager = await start({ caClient: createTestCaClient(ca), log });
    const junk = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
    manager.setConfigTrustBundle([junk, otherCa.rootPem]);
    const merged = splitBundle((await trustBundle(manager)).roots.toString());
    expect(new Set(merged)).toEqual(new Set([ca.rootPem.trim(), otherCa.rootPem.trim()]));
    expect(log.printed.join("\n")).toContain('some trust anchors of the control plane cannot be used {"dropped":1}');
    await expect(manager.describeCertificates()).resolves.toHaveLength(2);
  });

  test("a list of revoked certificates that appears later is announced with every bundle", async () => {
    await writeFile(at("root"), ca.rootPem);
    const manager = await start({ caClient: createTestCaClient(ca), crlPath: at("crl", "ca-crl.pem") });
    expect((await trustBundle(manager)).crlPath).toBeUndefined();
    const seen = { ROOTCA: countChanges(manager, "ROOTCA"), file: countChanges(manager, `file-root:${at("root")}`) };
    await until("the file is watched", () => seen.file.count === 1);
    await mkdir(at("crl"));
    await writeFile(at("crl", "ca-crl.pem"), "list");
    await until("both are announced", () => seen.ROOTCA.count > 0 && seen.file.count > 1);
    expect((await trustBundle(manager)).crlPath).toBe(at("crl", "ca-crl.pem"));
    expect((await trustBundle(manager, `file-root:${at("root")}`)).crlPath).toBe(at("crl", "ca-crl.pem"));
  });
});
