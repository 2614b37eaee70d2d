import { access } from "node:fs/promises";
import type { Logger } from "../../base/logger.ts";
import { parseRoots } from "../core/parse-roots.ts";
import { SecretError } from "../secret-error.ts";
import { readCertificateFile } from "./read-file.ts";

/** The usable certificates of a bundle file. Rejects with a `SecretError` when there is none. */
export async function readRootFile(path: string, log: Logger): Promise<Buffer> {
  const { pem, count, problems } = parseRoots((await readCertificateFile(path)).toString("latin1"));
  const list = `[${problems.join(" ")}]`;
  if (count === 0) throw new SecretError("bad-file", `failed to parse root certs from file ${path}: ${list}`);
  if (problems.length > 0) log.error(`failed to parse some certs from file ${path}: ${list}`);
  return Buffer.from(pem, "latin1");
}

/** Where operating systems keep their CA bundle, in the order they are tried. */
export const SYSTEM_ROOT_PATHS = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/tls/cacert.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
  "/usr/local/etc/ssl/cert.pem",
  "/etc/ssl/certs/ca-certificates",
] as const;

export async function findSystemRoots(paths: readonly string[] = SYSTEM_ROOT_PATHS): Promise<string | undefined> {
  for (const path of paths) {
    const found = await access(path).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}
