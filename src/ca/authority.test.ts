import { afterEach, beforeAll, describe, expect, test } from "vitest";
import "../../test/support/no-open-handles.ts";
import { makeCertificate, type TestCertificate } from "../../test/support/certs/certificates.ts";
import { temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { type RecordedLog, recordLog } from "../../test/support/log/recording-log.ts";
import { CloseStack } from "../base/close-stack.ts";
import { isIssuedBy, parsePemCertificate } from "../protocol/x509/certificate.ts";
import { buildCsr } from "../protocol/x509/csr.ts";
import { generateKeyPair, type KeyPair, parsePrivateKey } from "../protocol/x509/key-pair.ts";
import { type Authority, type AuthorityOptions, startAuthority } from "./authority.ts";

const HOUR = 3_600_000;
const IDENTITY = "spiffe://cluster.local/ns/default/sa/web";
const opened = new CloseStack();
afterEach(() => opened.close());

let keys: KeyPair;
let csr: string;
beforeAll(async () => {
  keys = await generateKeyPair({ type: "ecdsa", curve: "P256" });
  csr = await buildCsr(keys, { hosts: ["spiffe://evil/ns/x/sa/y"] });
});

const start = async (
  directory: string,
  options: Partial<AuthorityOptions> = {},
): Promise<{ readonly authority: Authority; readonly log: RecordedLog }> => {
  const log = recordLog();
  const selfSigned = { key: { type: "ecdsa", curve: "P256" } as const, ...options.selfSigned };
  const authority = await startAuthority({ directory, trustDomain: "cluster.local", log, ...options, selfSigned });
  opened.add(authority);
  return { authority, log };
};
const sign = (authority: Authority, ttlSeconds = 60n) =>
  authority.sign({ csrPem: csr, identities: [IDENTITY], ttlSeconds });
const leafOf = async (chain: Promise<readonly string[]>) => parsePemCertificate((await chain)[0] ?? "");

describe("a self-signed authority", () => {
  test("answers with leaf and root, for the caller's identity and not the CSR's", async () => {
    await using directory = temporaryFolder();
    const { authority } = await start(directory.path);
    const chain = await sign(authority);
    const [leaf, root] = chain.map(parsePemCertificate);
    expect(chain).toHaveLength(2);
    expect(leaf?.names).toEqual([{ kind: "uri", value: IDENTITY }]);
    expect(leaf !== undefined && root !== undefined && isIssuedBy(leaf, root)).toBe(true);
  });

  test.each([
    { bad: "hello", code: "CSR_ERROR", message: "certificate signing request is not properly encoded" },
    { bad: "", code: "CSR_ERROR", message: "certificate signing request is not properly encoded" },
  ])("refuses $bad as $code", async ({ bad, code, message }) => {
    await using directory = temporaryFolder();
    const { authority } = await start(directory.path);
    const signing = authority.sign({ csrPem: bad, identities: [IDENTITY], ttlSeconds: 0n });
    await expect(signing).rejects.toMatchObject({ code, message });
  });

  test.each([
    { what: "RSA, the default", selfSigned: {}, keyType: "rsa" },
    { what: "P-384", selfSigned: { key: { type: "ecdsa", curve: "P384" } as const }, keyType: "ec" },
  ])("may have a root of another kind: $what", async ({ selfSigned, keyType }) => {
    await using directory = temporaryFolder();
    const authority = await startAuthority({
      directory: directory.path,
      trustDomain: "td",
      log: recordLog(),
      selfSigned,
    });
    opened.add(authority);
    expect(authority.material.key.asymmetricKeyType).toBe(keyType);
    expect(isIssuedBy(await leafOf(sign(authority)), authority.material.certificate)).toBe(true);
    const server = await authority.issueServer(["b.example", "a.example", "b.example"]);
    const certificate = parsePemCertificate(server.chainPem);
    expect(certificate.names.map((name) => name.value)).toEqual(["a.example", "b.example"]);
    expect(certificate.notAfter).toEqual(authority.material.certificate.notAfter);
    expect(parsePrivateKey(server.keyPem.reveal()).asymmetricKeyType).toBe(keyType);
  });

  test("gives no serial twice", async () => {
    await using directory = temporaryFolder();
    const { authority } = await start(directory.path);
    const serials = [authority.material.certificate.serial];
    for (let round = 0; round < 50; round += 1) serials.push((await leafOf(sign(authority))).serial);
    expect(new Set(serials).size).toBe(51);
  });

  test("never lets a leaf outlive its signer", async () => {
    await using directory = temporaryFolder();
    const { authority } = await start(directory.path, { selfSigned: { lifetimeMs: HOUR, checkIntervalMs: 0 } });
    const leaf = await leafOf(sign(authority, 86_400n));
    expect(leaf.notAfter).toEqual(authority.material.certificate.notAfter);
  });

  test("whose root has expired signs nothing", async () => {
    await using directory = temporaryFolder();
    let now = Date.now();
    const { authority } = await start(directory.path, {
      selfSigned: { lifetimeMs: HOUR, checkIntervalMs: 0 },
      now: () => new Date(now),
    });
    now += 2 * HOUR;
    await expect(sign(authority)).rejects.toMatchObject({
      code: "CERT_GEN_ERROR",
      message: expect.stringContaining("signing certificate has expired at"),
    });
  });

  test("renews its root with the same key before it ends, and chains of the old one stay good", async () => {
    await using directory = temporaryFolder();
    let now = Date.now();
    const { authority } = await start(directory.path, {
      selfSigned: { lifetimeMs: 10 * HOUR, checkIntervalMs: 10 },
      now: () => new Date(now),
    });
    const before = authority.material;
    const changes: string[] = [];
    authority.onChange((material) => void changes.push(material.certificate.serial));
    const old = await leafOf(sign(authority));
    now += 9 * HOUR;
    await expect.poll(() => changes.length).toBe(1);
    expect(authority.material.certificate.publicKeyDer).toEqual(before.certificate.publicKeyDer);
    expect(authority.material.certificate.notAfter.getTime()).toBeGreaterThan(before.certificate.notAfter.getTime());
    expect(isIssuedBy(old, authority.material.certificate)).toBe(true);
    // The next start finds what was written.
    const { authority: next } = await start(directory.path, { now: () => new Date(now) });
    expect(next.material.certificate.serial).toBe(authority.material.certificate.serial);
  });

  test("takes over a root that another process renewed", async () => {
    await using directory = temporaryFolder();
    let now = Date.now();
    const clock = () => new Date(now);
    const life = { lifetimeMs: 10 * HOUR };
    const { authority: idle } = await start(directory.path, {
      selfSigned: { ...life, checkIntervalMs: 10 },
      now: clock,
    });
    const before = idle.material.certificate.serial;
    now += 9 * HOUR;
    const { authority: renewing } = await start(directory.path, {
      selfSigned: { ...life, checkIntervalMs: 0 },
      now: clock,
    });
    await expect.poll(() => idle.material.certificate.serial).not.toBe(before);
    expect(renewing.material.certificate.publicKeyDer).toEqual(idle.material.certificate.publicKeyDer);
  });

  test("makes no new root when its own is taken away, and says so", async () => {
    await using directory = temporaryFolder();
    const { authority, log } = await start(directory.path, { selfSigned: { checkIntervalMs: 10 } });
    const { unlink } = await import("node:fs/promises");
    await unlink(directory.file("ca-cert.pem"));
    await expect.poll(() => log.text()).toContain("the root certificate is gone");
    await sign(authority);
  });
});

describe("settings", () => {
  test("of months between two looks at the root do not become a look every millisecond", async () => {
    await using directory = temporaryFolder();
    const { unlink } = await import("node:fs/promises");
    const { authority, log } = await start(directory.path, {
      selfSigned: { checkIntervalMs: 2 ** 40 },
      random: () => 1,
    });
    await unlink(directory.file("ca-cert.pem"));
    for (let round = 0; round < 100; round += 1) await sign(authority);
    expect(log.text()).not.toContain("the root certificate is gone");
  });

  test.each([true, false])(
    "that spread checks of the root (%s) decide whether the first is at a random time",
    async (spreadsChecks) => {
      await using directory = temporaryFolder();
      let draws = 0;
      const random = () => {
        draws += 1;
        return 1;
      };
      await start(directory.path, { selfSigned: { checkIntervalMs: HOUR, spreadsChecks }, random });
      expect(draws).toBe(spreadsChecks ? 1 : 0);
    },
  );

  test.each([0, -HOUR, Number.NaN])("of %d ms for a certificate's life are reported and not used", async (life) => {
    await using directory = temporaryFolder();
    const { authority, log } = await start(directory.path, { ttl: { defaultMs: life, maxMs: life } });
    const leaf = await leafOf(sign(authority, 0n));
    expect(leaf.notAfter.getTime() - Date.now()).toBeGreaterThan(23 * HOUR);
    await sign(authority, 3600n);
    expect(log.lines.filter((line) => line.level === "warn")).toHaveLength(2);
  });
});

describe("a plugged-in authority", () => {
  let root: TestCertificate;
  let signer: TestCertificate;
  beforeAll(async () => {
    root = await makeCertificate({ organization: "root", toMs: 100 * HOUR });
    signer = await makeCertificate({ organization: "signer", by: root, toMs: 50 * HOUR });
  });
  const files = (certificate: TestCertificate, rootPem = root.pem) => ({
    "ca-cert.pem": certificate.pem,
    "ca-key.pem": certificate.keyPem,
    "root-cert.pem": rootPem,
    "cert-chain.pem": certificate.pem,
  });

  test("answers with leaf, each intermediate and the root bundle", async () => {
    await using directory = temporaryFolder({ files: files(signer) });
    const { authority } = await start(directory.path);
    const chain = await sign(authority);
    expect(chain.slice(1)).toEqual([signer.pem, root.pem]);
    expect(authority.kind).toBe("plugged-in");
  });

  test("takes new files while running, once they are complete", async () => {
    await using directory = temporaryFolder({ files: files(signer) });
    const { authority, log } = await start(directory.path, { debounceMs: 20 });
    const next = await makeCertificate({ organization: "next", by: root });
    directory.writeAll({ "ca-cert.pem": next.pem });
    await expect.poll(() => log.text()).toContain("new signing certificate not used, the old one stays");
    expect((await sign(authority))[1]).toBe(signer.pem);
    directory.writeAll(files(next));
    await expect.poll(async () => (await sign(authority))[1]).toBe(next.pem);
    expect(log.text()).not.toContain("PRIVATE KEY");
  });

  test("notices a directory that was replaced, by polling", async () => {
    await using parent = temporaryFolder();
    const { mkdir, rename, rm, writeFile } = await import("node:fs/promises");
    const fill = async (name: string, content: Record<string, string>) => {
      await mkdir(parent.file(name));
      await Promise.all(Object.entries(content).map(([file, text]) => writeFile(parent.file(`${name}/${file}`), text)));
    };
    await fill("ca", files(signer));
    const { authority } = await start(parent.file("ca"), { debounceMs: 5, pollMs: 20 });
    const next = await makeCertificate({ organization: "next", by: root });
    await fill("new", files(next));
    await rename(parent.file("ca"), parent.file("old"));
    await rename(parent.file("new"), parent.file("ca"));
    await rm(parent.file("old"), { recursive: true });
    await expect.poll(async () => (await sign(authority))[1]).toBe(next.pem);
  });

  test("refuses another root, and in a mesh of several roots takes one more", async () => {
    const other = await makeCertificate({ organization: "other" });
    const under = await makeCertificate({ organization: "under", by: other });
    await using strict = temporaryFolder({ files: files(signer) });
    const { authority, log } = await start(strict.path, { debounceMs: 5 });
    strict.writeAll(files(under, other.pem));
    await expect.poll(() => log.text()).toContain("the root certificates changed");
    expect((await sign(authority)).at(-1)).toBe(root.pem);
    await using open = temporaryFolder({ files: files(signer) });
    const { authority: several } = await start(open.path, { debounceMs: 5, allowsSeveralRoots: true });
    open.writeAll(files(signer, root.pem + other.pem));
    await expect.poll(async () => (await sign(several)).at(-1)).toBe(root.pem + other.pem);
  });

  test("lowers the default TTL to what is left of the chain, again after a reload", async () => {
    const short = await makeCertificate({ organization: "short", by: root, toMs: 2 * HOUR });
    await using directory = temporaryFolder({ files: files(signer) });
    const { authority } = await start(directory.path, { debounceMs: 5 });
    const left = async () => (await leafOf(sign(authority, 0n))).notAfter.getTime() - Date.now();
    expect(await left()).toBeGreaterThan(23 * HOUR);
    directory.writeAll(files(short));
    await expect.poll(left).toBeLessThan(2 * HOUR + 1000);
  });

  test("whose chain has expired does not start", async () => {
    const stale = await makeCertificate({ organization: "stale", by: root, fromMs: -2 * HOUR, toMs: -HOUR });
    await using directory = temporaryFolder({ files: { ...files(signer), "cert-chain.pem": stale.pem } });
    const starting = startAuthority({ directory: directory.path, trustDomain: "td", log: recordLog() });
    await expect(starting).rejects.toMatchObject({ code: "expired" });
  });
});
