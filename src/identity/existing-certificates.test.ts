import { execFileSync } from "node:child_process";
import { mkdir, symlink, truncate, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { createExistingCertificates } from "./existing-certificates.ts";

test("a pair counts when both files have content, and for good from then on", async () => {
  await using directory = temporaryFolder();
  const at = (name: string) => join(directory.path, name);
  const paths = { certificateChain: at("c"), key: at("k"), root: at("r") };
  const existing = createExistingCertificates(paths, undefined);
  await writeFile(at("c"), "x");
  await writeFile(at("k"), "");
  await expect(existing?.hasKeyPair()).resolves.toBe(false);
  await writeFile(at("k"), "x");
  await expect(existing?.hasKeyPair()).resolves.toBe(true);
  await truncate(at("c"));
  await unlink(at("k"));
  await expect(existing?.hasKeyPair()).resolves.toBe(true);
  await expect(existing?.hasRoot()).resolves.toBe(false);
});

test.each([
  { what: "a directory", make: (path: string) => mkdir(path) },
  { what: "a link that leads nowhere", make: (path: string) => symlink("nowhere", path) },
  { what: "a named pipe", make: async (path: string) => void execFileSync("mkfifo", [path]) },
])("$what in the place of a file is not a certificate", async ({ make }) => {
  await using directory = temporaryFolder();
  const at = (name: string) => join(directory.path, name);
  const existing = createExistingCertificates({ certificateChain: at("c"), key: at("k"), root: at("r") }, undefined);
  await writeFile(at("k"), "x");
  for (const name of ["c", "r"]) await make(at(name));
  await expect(existing?.hasKeyPair()).resolves.toBe(false);
  await expect(existing?.hasRoot()).resolves.toBe(false);
});

test("what the agent writes itself is never read as mounted, however the path is spelled", () => {
  const paths = {
    certificateChain: "/etc/certs/cert-chain.pem",
    key: "/etc/certs/key.pem",
    root: "/etc/certs/root-cert.pem",
  };
  expect(createExistingCertificates(paths, "/etc/../etc/certs/")).toBeUndefined();
  expect(createExistingCertificates(paths, "/etc/other")).toBeDefined();
  expect(createExistingCertificates(undefined, undefined)).toBeUndefined();
});
