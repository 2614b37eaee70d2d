import { Secret } from "../../base/secret.ts";
import { parsePemCertificate } from "../../protocol/x509/certificate.ts";
import { mergeRoots } from "../core/trust-bundle.ts";
import { checkKeyPair } from "../files/key-pair-file.ts";
import type { WorkloadCertificate } from "../workload-issuer.ts";
import { CHAIN_FILE, KEY_FILE, OUTPUT_NAMES, ROOT_FILE, readNames, readShown } from "./output-version.ts";

/**
 * The certificate an earlier run wrote, if it is complete, belongs to the same identity and is valid at this moment. Anything else is
 * no error: the agent then starts as if the directory were empty.
 */
export async function readSaved(
  directory: string,
  hosts: readonly string[],
  nowMs: number,
): Promise<WorkloadCertificate | undefined> {
  try {
    const shown = await readShown(directory);
    const files = shown.size > 0 ? shown : await readNames(directory, OUTPUT_NAMES);
    const [key, chain, root] = [files.get(KEY_FILE), files.get(CHAIN_FILE), files.get(ROOT_FILE)];
    if (key === undefined || chain === undefined || root === undefined) return undefined;
    checkKeyPair(chain, key);
    const leaf = parsePemCertificate(chain.toString());
    const names = new Set(leaf.names.map((name) => name.value));
    if (!hosts.every((host) => names.has(host))) return undefined;
    const [notBeforeMs, expiresMs] = [leaf.notBefore.getTime(), leaf.notAfter.getTime()];
    if (nowMs < notBeforeMs || nowMs >= expiresMs) return undefined;
    const rootsPem = mergeRoots(root.toString());
    if (rootsPem === "") return undefined;
    const keyPem = new Secret(key.toString());
    return { chainPem: chain.toString(), keyPem, rootsPem, createdMs: notBeforeMs, expiresMs, source: "saved" };
  } catch {
    return undefined;
  }
}
