import { readdir, readFile, stat, symlink, unlink } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { makeCertificate, type TestCertificate } from "../../../test/support/certs/certificates.ts";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { parsePemCertificate } from "../../protocol/x509/certificate.ts";
import { createOnce, replaceMaterial } from "./create-once.ts";
import { readPluggedIn } from "./plugged-in.ts";
import {
  loadOrCreateRoot,
  type RootTexts,
  readRoot,
  renewRoot,
  type SelfSignedOptions,
  type SharedRootStore,
} from "./self-signed-store.ts";

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe("files that are written whole", () => {
  test("the first of many writers wins and no draft is left", async () => {
    await using directory = temporaryFolder();
    const path = directory.file("x");
    const writers = Array.from({ length: 20 }, (_, index) => createOnce(path, `content ${index}`, 0o600));
    const won = await Promise.all(writers);
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await readFile(path, "utf8")).toBe(`content ${won.indexOf(true)}`);
    expect(await modeOf(path)).toBe(0o600);
    expect(await readdir(directory.path)).toEqual(["x"]);
  });

  test("a directory that is not there is an error and leaves nothing", async () => {
    await using directory = temporaryFolder();
    await expect(createOnce(directory.file("no/x"), "", 0o600)).rejects.toMatchObject({ code: "unwritable" });
    await expect(replaceMaterial(directory.file("no/x"), "", 0o600)).rejects.toMatchObject({ code: "unwritable" });
    expect(await readdir(directory.path)).toEqual([]);
  });

  test("a file is replaced with the mode that is asked for", async () => {
    await using directory = temporaryFolder({ files: { x: "old" } });
    await replaceMaterial(directory.file("x"), "new", 0o640);
    expect(await readFile(directory.file("x"), "utf8")).toBe("new");
    expect(await modeOf(directory.file("x"))).toBe(0o640);
  });
});

describe("a plugged-in CA", () => {
  const files = { "ca-cert.pem": "c", "ca-key.pem": "k", "root-cert.pem": "r", "cert-chain.pem": "h" };

  test("is read from the four files, with its revocation lists", async () => {
    await using directory = temporaryFolder({ files: files });
    const texts = { certificate: "c", key: "k", root: "r", chain: "h" };
    expect(await readPluggedIn(directory.path)).toEqual({ ...texts, crl: undefined });
    directory.writeAll({ "ca-crl.pem": "l" });
    expect(await readPluggedIn(directory.path)).toEqual({ ...texts, crl: "l" });
  });

  test("is read from a certificate manager's three files, which come first", async () => {
    await using directory = temporaryFolder({ files: { ...files, "tls.crt": "C", "tls.key": "K", "ca.crt": "R" } });
    expect(await readPluggedIn(directory.path)).toEqual({ certificate: "C", key: "K", root: "R", chain: "C\nR" });
  });

  test("is not there in an empty, missing or self-made directory", async () => {
    await using directory = temporaryFolder();
    expect(await readPluggedIn(directory.path)).toBeUndefined();
    expect(await readPluggedIn(directory.file("missing"))).toBeUndefined();
    directory.writeAll({ ...files, "istio-generated": "" });
    expect(await readPluggedIn(directory.path)).toBeUndefined();
  });

  test.each([
    { left: ["ca-key.pem"], missing: "ca-cert.pem, root-cert.pem, cert-chain.pem" },
    { left: ["root-cert.pem"], missing: "ca-cert.pem, ca-key.pem, cert-chain.pem" },
    { left: ["ca-cert.pem", "ca-key.pem", "root-cert.pem"], missing: "cert-chain.pem" },
    { left: ["tls.crt"], missing: "tls.key, ca.crt" },
  ])("with only $left is incomplete, and the error names the rest", async ({ left, missing }) => {
    await using directory = temporaryFolder({ files: Object.fromEntries(left.map((name) => [name, "x"])) });
    await expect(readPluggedIn(directory.path)).rejects.toMatchObject({
      code: "incomplete-bundle",
      message: `incomplete signing CA bundle detected in ${directory.path}: missing ${missing}`,
    });
  });

  test("that cannot be read is named with its file", async () => {
    await using directory = temporaryFolder();
    await symlink(directory.path, directory.file("ca-key.pem"));
    await expect(readPluggedIn(directory.path)).rejects.toMatchObject({
      code: "unreadable",
      message: expect.stringContaining("ca-key.pem: EISDIR"),
    });
  });
});

describe("a self-signed root", () => {
  let elsewhere: TestCertificate;
  beforeAll(async () => {
    elsewhere = await makeCertificate({ organization: "elsewhere" });
  });
  const options = (directory: string): SelfSignedOptions => ({
    directory,
    trustDomain: "cluster.local",
    key: { type: "ecdsa", curve: "P256" },
    lifetimeMs: 3_600_000,
    now: () => new Date(),
  });

  test("is made once by ten starters at a time, readable by its owner alone", async () => {
    await using directory = temporaryFolder();
    const store = options(directory.file("ca"));
    const roots = await Promise.all(Array.from({ length: 10 }, () => loadOrCreateRoot(store)));
    expect(new Set(roots.map((root) => root.certificatePem)).size).toBe(1);
    expect(roots.every((root) => root.key.equals((roots[0] ?? root).key))).toBe(true);
    expect(await modeOf(directory.file("ca"))).toBe(0o700);
    expect(await modeOf(directory.file("ca/ca-key.pem"))).toBe(0o600);
    const names = ["ca-cert.pem", "ca-key.pem", "istio-generated", "root-cert.pem"];
    expect((await readdir(directory.file("ca"))).sort()).toEqual(names);
    expect(await readFile(directory.file("ca/root-cert.pem"), "utf8")).toBe(roots[0]?.certificatePem);
  });

  test("survives a restart", async () => {
    await using directory = temporaryFolder();
    const first = await loadOrCreateRoot(options(directory.path));
    const second = await loadOrCreateRoot(options(directory.path));
    expect(second.certificatePem).toBe(first.certificatePem);
    expect(second.key.equals(first.key)).toBe(true);
  });

  test("is completed when a crash left the key alone", async () => {
    await using directory = temporaryFolder();
    const first = await loadOrCreateRoot(options(directory.path));
    await unlink(directory.file("ca-cert.pem"));
    await unlink(directory.file("root-cert.pem"));
    const second = await loadOrCreateRoot(options(directory.path));
    expect(second.key.equals(first.key)).toBe(true);
    expect(parsePemCertificate(second.certificatePem).publicKeyDer).toEqual(
      parsePemCertificate(first.certificatePem).publicKeyDer,
    );
  });

  test("whose key is gone is not silently replaced", async () => {
    await using directory = temporaryFolder();
    await loadOrCreateRoot(options(directory.path));
    await unlink(directory.file("ca-key.pem"));
    await expect(loadOrCreateRoot(options(directory.path))).rejects.toMatchObject({
      code: "incomplete-bundle",
      message: expect.stringContaining("restore the key"),
    });
  });

  test("whose key is damaged is refused without showing it", async () => {
    await using directory = temporaryFolder({ files: { "ca-key.pem": elsewhere.keyPem.slice(0, 80) } });
    const failure: unknown = await loadOrCreateRoot(options(directory.path)).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "bad-key", message: expect.stringContaining("ca-key.pem") });
    expect((failure as Error).message).not.toContain(elsewhere.keyPem.split("\n")[1]?.slice(0, 20));
  });

  test("in a shared store is made once by ten starters at a time, and its certificate is renewed there", async () => {
    let stored: RootTexts | undefined;
    const shared: SharedRootStore = {
      location: "the store",
      read: async () => stored,
      create: async (root) => {
        stored ??= root;
        return stored;
      },
      replace: async (root) => {
        stored = root;
      },
    };
    const given = { ...options("/nowhere"), shared };
    const roots = await Promise.all(Array.from({ length: 10 }, () => loadOrCreateRoot(given)));
    expect(new Set(roots.map((root) => root.certificatePem)).size).toBe(1);
    const [first] = roots;
    if (first === undefined) throw new Error("no root");
    const renewed = await renewRoot(first.key, given);
    expect(await readRoot(given)).toBe(renewed.certificatePem);
    expect(renewed.certificatePem).not.toBe(first.certificatePem);
    expect((await loadOrCreateRoot(given)).key.equals(first.key)).toBe(true);
  });
});
