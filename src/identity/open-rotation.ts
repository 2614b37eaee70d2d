import { Secret } from "../base/secret.ts";
import { parsePemCertificate } from "../protocol/x509/certificate.ts";
import { mergeRoots } from "./core/trust-bundle.ts";
import { checkKeyPair } from "./files/key-pair-file.ts";
import { CHAIN_FILE, KEY_FILE, OUTPUT_NAMES, ROOT_FILE, readNames, readShown } from "./output/output-version.ts";
import { createRotation, type Rotation, type RotationOptions } from "./rotation.ts";
import { DEFAULT_TUNING, type SecretManagerOptions } from "./secret-manager-options.ts";
import { createIssuer, type WorkloadCertificate } from "./workload-issuer.ts";
import { generateWorkloadKey } from "./workload-key.ts";

/** The rotation that the options describe, not yet begun; undefined without a CA. */
export async function openRotation(
  options: SecretManagerOptions,
  onIssued: RotationOptions["onIssued"],
): Promise<Rotation | undefined> {
  const { caClient, log, metrics, renewal } = options;
  if (caClient === undefined) return undefined;
  const tuning = { ...DEFAULT_TUNING, ...options.tuning };
  const issue = createIssuer({
    caClient,
    key: options.key,
    pkcs8: options.pkcs8,
    hosts: options.hosts,
    ttlSeconds: options.ttlSeconds,
    timeoutMs: tuning.issueTimeoutMs,
    preparedKey: prepareKey(options),
    clock: tuning.clock,
    metrics,
    log,
  });
  const { output } = options;
  const saved = output?.reuse ? await readSaved(output.directory, options.hosts, tuning.clock.now().wallMs) : undefined;
  if (saved !== undefined) log.info("serving the certificate of an earlier run until the CA answers");
  return createRotation({ issue, renewal, saved, log, onIssued, ...tuning });
}

function prepareKey({
  prepareKey = true,
  key,
}: SecretManagerOptions): ReturnType<typeof generateWorkloadKey> | undefined {
  if (prepareKey === false) return undefined;
  const prepared = prepareKey === true ? generateWorkloadKey(key) : prepareKey;
  // The user of the key gets the failure; an unused key's failure is irrelevant.
  prepared.catch(() => undefined);
  return prepared;
}

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
