import { execFileSync } from "node:child_process";
import { mkdir, truncate, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createTestCa, SPIFFE_ID, validFor } from "../../../test/support/certs/test-ca.ts";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { readConnectionMaterial } from "./connection-material.ts";

const ca = await createTestCa();
const pair = await ca.pair([SPIFFE_ID]);

const UNUSABLE: readonly { what: string; make: (path: string) => Promise<unknown>; says: string }[] = [
  { what: "missing", make: async () => undefined, says: "ENOENT" },
  { what: "a directory", make: (path) => mkdir(path), says: "is a directory" },
  { what: "a pipe", make: async (path) => execFileSync("mkfifo", [path]), says: "not a regular file" },
  {
    what: "of gigabytes",
    make: async (path) => {
      await writeFile(path, "");
      await truncate(path, 3e9);
    },
    says: "larger than",
  },
];

test.each([
  ...UNUSABLE,
  { what: "empty", make: (path: string) => writeFile(path, ""), says: "no certificate in it" },
  {
    what: "cut off",
    make: (path: string) => writeFile(path, ca.rootPem.slice(0, -30)),
    says: "invalid PEM encoded certificate",
  },
])("roots that are $what are reported, at once and by name", async ({ make, says }) => {
  await using directory = temporaryFolder();
  await make(directory.file("root"));
  const reading = readConnectionMaterial({ rootFile: directory.file("root") }, recordLog(), new Date());
  await expect(reading).rejects.toMatchObject({ code: "bad-config", message: expect.stringContaining(says) });
  await expect(reading).rejects.toThrow(directory.file("root"));
});

const GARBAGE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

test.each([
  { what: "a block that was cut off behind it", text: ca.rootPem + ca.rootPem.slice(0, 100) },
  { what: "garbage before it", text: GARBAGE + ca.rootPem },
  { what: "a key before it", text: pair.key + ca.rootPem },
  { what: "prose around it", text: `ours\n${ca.rootPem}the end\n` },
])("a root with $what is trusted all the same, and nothing else is handed to OpenSSL", async ({ text }) => {
  await using directory = temporaryFolder({ files: { root: text } });
  const reading = readConnectionMaterial({ rootFile: directory.file("root") }, recordLog(), new Date());
  await expect(reading).resolves.toMatchObject({ roots: ca.rootPem });
});

test.each([
  ...UNUSABLE,
  { what: "no key", make: (path: string) => writeFile(path, "key"), says: "not a certificate and key in PEM" },
])("a client key that is $what only warns: a token may do", async ({ make, says }) => {
  await using directory = temporaryFolder();
  const log = recordLog();
  await writeFile(directory.file("root"), ca.rootPem);
  await writeFile(directory.file("cert-chain.pem"), pair.cert);
  await make(directory.file("key.pem"));
  const files = { rootFile: directory.file("root"), clientCertificateDirectory: directory.file("") };
  await expect(readConnectionMaterial(files, log, new Date())).resolves.toMatchObject({ client: undefined });
  expect(log.text()).toContain(says);
});

test("a client certificate is shown until it expires, and a change of its bytes is a new connection", async () => {
  await using directory = temporaryFolder();
  const files = { rootFile: directory.file("root"), clientCertificateDirectory: directory.file("") };
  await writeFile(directory.file("root"), ca.rootPem);
  const write = async ({ cert, key }: { cert: string; key: string }) => {
    await writeFile(directory.file("cert-chain.pem"), cert);
    await writeFile(directory.file("key.pem"), key);
  };
  const read = () => readConnectionMaterial(files, recordLog(), new Date());
  await write(pair);
  const first = await read();
  expect(first.client?.chain).toBe(pair.cert);
  expect((await read()).fingerprint).toBe(first.fingerprint);
  await write(await ca.pair([SPIFFE_ID]));
  expect((await read()).fingerprint).not.toBe(first.fingerprint);
  await write(await ca.pair([SPIFFE_ID], validFor(-1000)));
  expect((await read()).client).toBeUndefined();
});
