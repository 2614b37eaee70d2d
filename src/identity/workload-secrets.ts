import { formatDurationMs } from "../base/duration.ts";
import type { Logger } from "../base/logger.ts";
import type { Clock } from "./clock.ts";
import { mergeRoots, usableRoots } from "./core/trust-bundle.ts";
import type { ExistingCertificates } from "./existing-certificates.ts";
import type { FileSecrets } from "./files/file-secrets.ts";
import type { Rotation } from "./rotation.ts";
import { SecretError } from "./secret-error.ts";
import {
  type KeyPairSecret,
  keyPairSecret,
  type ServedSecret,
  type TrustBundleSecret,
  trustBundleSecret,
} from "./secrets.ts";
import type { WorkloadCertificate } from "./workload-issuer.ts";

export interface WorkloadSecretsOptions {
  /** Undefined without a CA. */
  readonly rotation: Rotation | undefined;
  readonly existing: ExistingCertificates | undefined;
  readonly files: FileSecrets;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The workload's own key pair and trust bundle, from mounted files where there are some, else from the CA. */
export interface WorkloadSecrets {
  keyPair(name: string, signal: AbortSignal | undefined): Promise<ServedSecret>;
  trustBundle(name: string, signal: AbortSignal | undefined): Promise<TrustBundleSecret>;
  /** What is there without waiting for anybody. */
  available(): Promise<{ readonly keyPair: ServedSecret | undefined; readonly roots: Buffer | undefined }>;
  /** Where each of the two comes from at this moment. */
  source(): Promise<{ readonly keyPair: "file" | "ca"; readonly roots: "file" | "ca" }>;
  /** PEM certificates trusted beside those of the CA. Returns whether they differ from the ones before. */
  setConfigRoots(roots: string): boolean;
}

export function createWorkloadSecrets(options: WorkloadSecretsOptions): WorkloadSecrets {
  const { rotation, existing, files } = options;
  const encode = memoizeLast((certificate: WorkloadCertificate) => encodeKeyPair(certificate));
  let configRoots = "";

  async function fileRoots(signal: AbortSignal | undefined): Promise<string | undefined> {
    if (existing === undefined || !(await existing.hasRoot())) return undefined;
    const bundle = await files.readWhenValid("ROOTCA", existing.root, signal);
    return bundle.kind === "trust-bundle" ? bundle.roots.toString("latin1") : undefined;
  }

  /** Logged when it was present before the first request; an issuance logs itself. */
  async function issued(what: string, signal: AbortSignal | undefined): Promise<WorkloadCertificate> {
    if (rotation === undefined) {
      const cause = "attempted to fetch secret, but ca client is nil";
      throw new SecretError("not-issued", `failed to generate workload certificate: ${cause}`);
    }
    const current = rotation.current();
    if (current === undefined) return rotation.request(signal);
    const ttl = formatDurationMs(current.expiresMs - options.clock.now().wallMs);
    options.log.info(`returned workload ${what} from cache`, { ttl });
    return current;
  }

  return {
    keyPair: async (name, signal) => {
      if (existing !== undefined && (await existing.hasKeyPair()))
        return files.readWhenValid(name, existing.keyPair, signal);
      const secret = encode(await issued("certificate", signal));
      return secret.name === name ? secret : { ...secret, name };
    },
    trustBundle: async (name, signal) => {
      const roots = (await fileRoots(signal)) ?? (await issued("trust anchor", signal)).rootsPem;
      return trustBundleSecret(name, Buffer.from(mergeRoots(configRoots, roots), "latin1"), await files.crlPath());
    },
    available: async () => {
      const certificate = rotation?.current();
      const keyPair = (await existing?.hasKeyPair())
        ? await readNow(() => existing && files.read("default", existing.keyPair))
        : certificate && encode(certificate);
      const bundle = (await existing?.hasRoot())
        ? await readNow(() => existing && files.read("ROOTCA", existing.root))
        : undefined;
      const fromFile = bundle?.kind === "trust-bundle" ? bundle.roots.toString("latin1") : undefined;
      const roots = fromFile ?? certificate?.rootsPem;
      return {
        keyPair,
        roots: roots === undefined ? undefined : Buffer.from(mergeRoots(configRoots, roots), "latin1"),
      };
    },
    source: async () => ({
      keyPair: (await existing?.hasKeyPair()) ? "file" : "ca",
      roots: (await existing?.hasRoot()) ? "file" : "ca",
    }),
    setConfigRoots: (roots) => {
      const { pem, dropped } = usableRoots(roots);
      const merged = mergeRoots(pem);
      const changed = merged !== configRoots;
      configRoots = merged;
      if (changed && dropped > 0)
        options.log.error("some trust anchors of the control plane cannot be used", { dropped });
      return changed;
    },
  };
}

function encodeKeyPair(certificate: WorkloadCertificate): KeyPairSecret {
  return keyPairSecret("default", Buffer.from(certificate.chainPem), Buffer.from(certificate.keyPem.reveal()));
}

async function readNow(read: () => Promise<ServedSecret> | undefined): Promise<ServedSecret | undefined> {
  try {
    return await read();
  } catch {
    return undefined; // half-written or gone: there will be another event
  }
}

/** The same certificate is asked for by every stream until the next one is issued. */
function memoizeLast<Key extends object, Value>(build: (key: Key) => Value): (key: Key) => Value {
  let last: { readonly key: Key; readonly value: Value } | undefined;
  return (key) => {
    if (last?.key !== key) last = { key, value: build(key) };
    return last.value;
  };
}
