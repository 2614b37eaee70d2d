import { access } from "node:fs/promises";
import type { Logger } from "../../base/logger.ts";
import { SYSTEM_ROOT_PATHS } from "../../net/tls/system-roots.ts";
import { bundleProblemsText, parseTrustBundle } from "../../protocol/x509/trust-bundle.ts";
import { SecretError } from "../secret-error.ts";
import { readCertificateFile } from "./read-file.ts";

/** The usable certificates of a bundle file. Rejects with a `SecretError` when there is none. */
export async function readRootFile(path: string, log: Logger): Promise<Buffer> {
  const { pem, count, problems } = parseTrustBundle((await readCertificateFile(path)).toString("latin1"));
  const reasons = problems.map(({ reason }) => reason).join(" ");
  if (count === 0) throw new SecretError("bad-file", `failed to parse root certs from file ${path}: [${reasons}]`);
  if (problems.length > 0) log.error(`failed to parse some certs from file ${path}: [${bundleProblemsText(problems)}]`);
  return Buffer.from(pem, "latin1");
}

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
