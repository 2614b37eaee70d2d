import { errorMessage } from "../../base/coded-error.ts";
import { parsePemCertificate } from "../../protocol/x509/certificate.ts";
import { encodePrivateKey } from "../../protocol/x509/key-pair.ts";
import { isRootDue } from "../core/self-signed.ts";
import { checkMaterial, type SigningMaterial } from "../core/signing-material.ts";
import { loadOrCreateRoot, readRoot, renewRoot, type SelfSignedOptions, type StoredRoot } from "./self-signed-store.ts";
import type { MaterialSource, SourceOptions } from "./source.ts";

export interface SelfSignedSourceOptions extends SelfSignedOptions, SourceOptions {
  /** Zero or less: the root is never looked at again. */
  readonly checkIntervalMs: number;
  /** Renewed when no more than this share of its life is left. */
  readonly gracePercent: number;
  /** Spreads the first look over the interval, so that replicas do not renew together. */
  readonly random: () => number;
}

/** Timers of more than 2^31 ms fire at once; one check a day is cheap for any longer interval. */
const MAX_INTERVAL_MS = 24 * 3_600_000;

/** The directory's own root, made when there is none and renewed, with the same key, before it ends. */
export async function openSelfSigned(options: SelfSignedSourceOptions): Promise<MaterialSource> {
  const stored = await loadOrCreateRoot(options);
  // Also one that expired while nothing ran: its key is still good.
  const root = isDue(stored, options) ? await renewRoot(stored.key, options) : stored;
  const initial = toMaterial(root, options);
  return { kind: "self-signed", initial, follow: (use) => follow(options, root, use) };
}

function follow(
  options: SelfSignedSourceOptions,
  first: StoredRoot,
  use: (material: SigningMaterial) => void,
): () => Promise<void> {
  if (!(options.checkIntervalMs > 0)) return async () => undefined;
  const intervalMs = Math.min(options.checkIntervalMs, MAX_INTERVAL_MS);
  let root = first;
  let running = Promise.resolve();
  let stopped = false;
  const check = async () => {
    try {
      const next = await nextRoot(root, options);
      if (next === root || stopped) return;
      const material = toMaterial(next, options);
      root = next;
      use(material);
      options.log.info("root certificate changed", { serial: material.certificate.serial });
    } catch (failure) {
      options.log.error("root certificate could not be checked or renewed", { error: errorMessage(failure) });
    }
  };
  // The next look waits for the end of this one: two at a time would both see a root that is due.
  const schedule = (delayMs: number): NodeJS.Timeout =>
    setTimeout(() => {
      running = check().then(() => {
        if (!stopped) timer = schedule(intervalMs);
      });
    }, delayMs);
  let timer = schedule(options.random() * intervalMs);
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await running;
  };
}

/** Another process on the same directory may have renewed the root: then its certificate counts. */
async function nextRoot(root: StoredRoot, options: SelfSignedSourceOptions): Promise<StoredRoot> {
  const certificatePem = await readRoot(options);
  // It was removed on purpose or by accident; making a new one unasked would hide that.
  if (certificatePem === undefined)
    throw new Error(`the root certificate is gone from ${options.shared?.location ?? options.directory}`);
  const current = certificatePem === root.certificatePem ? root : { certificatePem, key: root.key };
  toMaterial(current, { ...options, now: () => parsePemCertificate(certificatePem).notBefore });
  return isDue(current, options) ? renewRoot(root.key, options) : current;
}

function isDue(root: StoredRoot, options: SelfSignedSourceOptions): boolean {
  return isRootDue(parsePemCertificate(root.certificatePem), options.gracePercent, options.now());
}

function toMaterial(root: StoredRoot, options: { readonly now: () => Date }): SigningMaterial {
  const { certificatePem, key } = root;
  const texts = {
    certificate: certificatePem,
    key: encodePrivateKey(key, true).reveal(),
    chain: "",
    root: certificatePem,
  };
  return checkMaterial(texts, options.now());
}
