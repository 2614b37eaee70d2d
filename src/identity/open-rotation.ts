import { readSaved } from "./output/read-saved.ts";
import { createRotation, type Rotation, type RotationOptions } from "./rotation.ts";
import { DEFAULT_TUNING, type SecretManagerOptions } from "./secret-manager-options.ts";
import { createIssuer } from "./workload-issuer.ts";
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
