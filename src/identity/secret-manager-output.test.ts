import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { createTestCa, createTestCaClient, SPIFFE_ID, validFor } from "../../test/support/certs/test-ca.ts";
import { keyPair, useManagers } from "../../test/support/sds/manager-harness.ts";
import { until } from "../../test/support/wait/until.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { splitBundle } from "./core/trust-bundle.ts";
import { generateWorkloadKey } from "./workload-key.ts";

const ca = await createTestCa();
const otherCa = await createTestCa("other.example");
const { at, start } = useManagers();

describe("output and operators", () => {
  test("key, chain and merged roots are written and follow each renewal", async () => {
    const client = createTestCaClient(ca, 400);
    const manager = await start({ caClient: client, output: { directory: at("out"), readableByAll: false } });
    manager.setConfigTrustBundle([otherCa.rootPem]);
    const first = await keyPair(manager);
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
    const saved = await keyPair(first);
    await until("it is written", async () => (await readFile(at("out", "key.pem"), "utf8").catch(() => "")) !== "");
    await first.stop();
    const client = createTestCaClient(ca);
    client.answer = () => Promise.reject(new Error("down"));
    const second = await start({ caClient: client, output });
    expect((await keyPair(second)).version).toBe(saved.version);
    await expect(second.describeCertificates()).resolves.toMatchObject([{ source: "saved" }, {}]);
    client.answer = undefined;
    await until("the CA's is served", async () => (await keyPair(second)).version !== saved.version);
  });

  test("operators see serial, names, validity, rotation and source, and never a key", async () => {
    const registry = new MetricRegistry();
    const manager = await start({ caClient: createTestCaClient(ca) }, registry);
    const { privateKey } = await keyPair(manager);
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

  test("how the CA failed stays in the description when it gives a certificate again, with times and a count", async () => {
    const client = createTestCaClient(ca);
    client.answer = () => Promise.reject(new Error("CA is down"));
    const before = Date.now();
    const manager = await start({ caClient: client });
    const failures = async () => (await manager.describeCertificates())[0]?.failures ?? [];
    await until("it has failed twice", async () => ((await failures())[0]?.count ?? 0) > 1);
    client.answer = undefined;
    await until("a certificate", async () => (await manager.describeCertificates())[0]?.certificates.length === 2);
    const [described] = await manager.describeCertificates();
    expect(described).not.toHaveProperty("lastFailure");
    expect(described?.failures).toMatchObject([{ message: "failed to generate workload certificate: CA is down" }]);
    const [{ at, since } = { at: "", since: "" }] = described?.failures ?? [];
    expect(Date.parse(since)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(at)).toBeGreaterThanOrEqual(Date.parse(since));
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
    const before = await keyPair(manager);
    client.answer = () => Promise.reject(new Error("CA is down"));
    await until("the failure shows", async () => (await manager.describeCertificates())[0]?.lastFailure !== undefined);
    expect((await keyPair(manager)).version).toBe(before.version);
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
    const keys = await generateWorkloadKey({ type: "ecdsa", curve: "P256" });
    const manager = await start({ caClient: createTestCaClient(ca), prepareKey: Promise.resolve(keys) });
    const { privateKey } = await keyPair(manager);
    expect(privateKey.reveal().toString()).toBe(keys.privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  });

  test("an expired certificate of a file is served as it is", async () => {
    const { cert, key } = await ca.pair(["a.test"], validFor(-1000));
    await writeFile(at("c"), cert);
    await writeFile(at("k"), key);
    const manager = await start({ caClient: undefined });
    await expect(keyPair(manager, `file-cert:${at("c")}~${at("k")}`)).resolves.toMatchObject({ kind: "key-pair" });
  });
});
