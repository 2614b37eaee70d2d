import { X509Certificate } from "node:crypto";
import { CloseStack } from "../base/close-stack.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import { parsePemCertificate } from "../protocol/x509/certificate.ts";
import type { PastFailure } from "./core/past-failures.ts";
import { parseResourceName, TRUST_BUNDLE_NAME, WORKLOAD_NAME } from "./core/resource-name.ts";
import { splitBundle } from "./core/trust-bundle.ts";
import { createExistingCertificates } from "./existing-certificates.ts";
import { createFileNameWatches } from "./file-name-watches.ts";
import { createFileSecrets, type FileSecrets } from "./files/file-secrets.ts";
import { createListeners } from "./listeners.ts";
import { openRotation } from "./open-rotation.ts";
import { CHAIN_FILE, KEY_FILE, type OutputFiles, type OutputName, ROOT_FILE } from "./output/output-version.ts";
import { startOutput } from "./output/start-output.ts";
import type { Rotation } from "./rotation.ts";
import {
  DEFAULT_FILE_WAIT_MS,
  DEFAULT_TUNING,
  type SecretManagerOptions,
  usableDebounceMs,
} from "./secret-manager-options.ts";
import { createSecretRouter, type SecretRouter } from "./secret-router.ts";
import type { ServedSecret } from "./secrets.ts";
import { watchWorkloadFiles } from "./watch-workload-files.ts";
import { createWorkloadSecrets, type WorkloadSecrets } from "./workload-secrets.ts";

const UNREADABLE: CertificateFacts = {
  serial: "",
  subject: "(not a certificate)",
  issuer: "",
  subjectAltNames: [],
  notBefore: "",
  notAfter: "",
  fingerprint: "",
};

/** `get` rejects with a `SecretError`. `onChange` calls back when the secret may have changed (compare `version` to know), and returns
 * the function that ends it; files are watched while somebody listens for them. */
export interface SecretManager extends Handle, SecretRouter {
  /** PEM certificates of the mesh configuration, trusted beside those of the CA. A change does not issue a new certificate. */
  setConfigTrustBundle(certificates: readonly string[]): void;
  /** For operators; never contains a key. */
  describeCertificates(): Promise<readonly CertificateDescription[]>;
  /** Why there is no workload certificate to serve; undefined when there is one. */
  unavailableReason(): Promise<string | undefined>;
  /** Resolves when the output directory holds what is served now, or its first write has failed. */
  outputSettled(): Promise<void>;
}

/** Resolves when files are watched and the first certificate is on its way; it does not wait for the CA. */
export async function startSecretManager(given: SecretManagerOptions): Promise<SecretManager> {
  await using opened = new CloseStack();
  const options = { ...given, fileDebounceMs: usableDebounceMs(given.fileDebounceMs) };
  const { log, metrics, fileDebounceMs: debounceMs } = options;
  const { clock } = { ...DEFAULT_TUNING, ...options.tuning };
  const listeners = createListeners(log);
  const files = createFiles(options);
  const existing = createExistingCertificates(options.existing, options.output?.directory);
  const rotation = await openRotation(options, (certificate, previous) => {
    workloadChanged();
    if (certificate.rootsPem === previous?.rootsPem) return;
    log.info("Root cert has changed, start rotating root cert");
    trustChanged();
  });
  if (rotation !== undefined) opened.add(rotation);
  const workload = createWorkloadSecrets({ rotation, existing, files, clock, log });
  const collect = () => outputFiles(workload);
  const output = options.output && opened.add(startOutput({ ...options.output, log, collect }));
  const fileWatches = opened.add(
    createFileNameWatches({ files, debounceMs, log, metrics, onChange: listeners.notify }),
  );
  const watches = await watchWorkloadFiles({
    manager: options,
    existing,
    files,
    onKeyPair: workloadChanged,
    onRoots: trustChanged,
    onCrl: () => {
      for (const name of listeners.names()) if (name !== WORKLOAD_NAME) listeners.notify(name);
    },
  });
  for (const watch of watches) opened.add(watch);
  metrics.setExpirySource(() => expirySeconds(rotation, options));
  opened.defer(() => metrics.setExpirySource(() => undefined));

  const source = await workload.source();
  if (source.keyPair === "ca" || source.roots === "ca") rotation?.begin();
  output?.refresh();

  function workloadChanged(): void {
    listeners.notify(WORKLOAD_NAME);
    output?.refresh();
  }

  function trustChanged(): void {
    listeners.notify(TRUST_BUNDLE_NAME);
    output?.refresh();
  }

  const owned = opened.move();
  return toHandle({
    ...createSecretRouter({ workload, files, fileWatches, listeners }),
    setConfigTrustBundle: (certificates: readonly string[]) => {
      if (workload.setConfigRoots(certificates.join("\n"))) trustChanged();
    },
    describeCertificates: () => describeManager({ workload, rotation, files, names: listeners.names() }),
    unavailableReason: async () => {
      const { keyPair } = await workload.available();
      if (keyPair !== undefined) return undefined;
      return rotation?.lastFailure()?.message ?? "the first workload certificate has not been issued yet";
    },
    outputSettled: () => output?.settled() ?? Promise.resolve(),
    // Nothing in here ends by itself: failures are retried for as long as the manager lives.
    ended: new Promise<void>(() => undefined),
    stop: () => owned.close(),
  });
}

function createFiles(options: SecretManagerOptions): FileSecrets {
  const { crlPath, systemRootPaths, log, metrics, fileDebounceMs: debounceMs } = options;
  const waitMs = options.fileWaitMs ?? DEFAULT_FILE_WAIT_MS;
  return createFileSecrets({ debounceMs, waitMs, crlPath, systemRootPaths, log, metrics });
}

function expirySeconds(rotation: Rotation | undefined, options: SecretManagerOptions): number | undefined {
  const certificate = rotation?.latest();
  const { clock } = { ...DEFAULT_TUNING, ...options.tuning };
  return certificate && (certificate.expiresMs - clock.now().wallMs) / 1000;
}

/** What can be served now, as files. The root file always is the merged bundle, the same that proxies get. */
async function outputFiles(workload: WorkloadSecrets): Promise<OutputFiles> {
  const { keyPair, roots } = await workload.available();
  const files = new Map<OutputName, Buffer>();
  if (keyPair?.kind === "key-pair") {
    files.set(KEY_FILE, keyPair.privateKey.reveal());
    files.set(CHAIN_FILE, keyPair.certificateChain);
  }
  if (roots !== undefined) files.set(ROOT_FILE, roots);
  return files;
}

interface DescribeSources {
  readonly workload: WorkloadSecrets;
  readonly rotation: Rotation | undefined;
  readonly files: FileSecrets;
  /** Names somebody listens for; those that are files are described too. */
  readonly names: readonly string[];
}

/** What the manager has at this moment, an expired certificate and a failed first issuance included. */
async function describeManager(sources: DescribeSources): Promise<readonly CertificateDescription[]> {
  const [{ keyPair, roots }, source] = await Promise.all([sources.workload.available(), sources.workload.source()]);
  const descriptions: CertificateDescription[] = [];
  if (source.keyPair === "ca" && sources.rotation !== undefined) descriptions.push(describeIssued(sources.rotation));
  else if (keyPair !== undefined) descriptions.push(describeFile(WORKLOAD_NAME, keyPair));
  if (roots !== undefined) {
    descriptions.push(describeCertificates(TRUST_BUNDLE_NAME, roots.toString("latin1"), { source: source.roots }));
  }
  for (const name of sources.names) {
    const secret = await readFileName(sources.files, name);
    if (secret !== undefined) descriptions.push(describeFile(name, secret));
  }
  return descriptions;
}

function describeIssued(rotation: Rotation): CertificateDescription {
  const certificate = rotation.latest();
  const nextMs = rotation.nextAttemptMs();
  const failure = rotation.lastFailure();
  const failures = rotation.failures();
  return describeCertificates(WORKLOAD_NAME, certificate?.chainPem ?? "", {
    source: certificate?.source ?? "ca",
    ...(nextMs === undefined ? {} : { nextRotation: new Date(nextMs).toISOString() }),
    ...(failure === undefined ? {} : { lastFailure: failure.message }),
    ...(failures.length === 0 ? {} : { failures: failures.map(describeFailure) }),
  });
}

function describeFailure({ message, atMs, sinceMs, count }: PastFailure): DescribedFailure {
  return { at: new Date(atMs).toISOString(), since: new Date(sinceMs).toISOString(), count, message };
}

function describeFile(name: string, secret: ServedSecret): CertificateDescription {
  const pem = secret.kind === "key-pair" ? secret.certificateChain : secret.roots;
  return describeCertificates(name, pem.toString("latin1"), { source: "file" });
}

async function readFileName(files: FileSecrets, name: string): Promise<ServedSecret | undefined> {
  const resource = parseResourceName(name);
  if (resource.kind === "workload" || resource.kind === "trust-bundle" || resource.kind === "unknown") return undefined;
  return files.read(name, resource).catch(() => undefined);
}

/** What operators may know of a secret: never a key. */
export interface CertificateDescription {
  readonly resource: string;
  readonly source: "ca" | "saved" | "file";
  readonly certificates: readonly CertificateFacts[];
  /** When the agent will renew it by itself; absent for files and trust bundles. */
  readonly nextRotation?: string;
  /** Why the last renewal failed, while it has not been made good. */
  readonly lastFailure?: string;
  /** How requests to the CA failed lately, newest first, also after it gave a certificate again; absent when none did. */
  readonly failures?: readonly DescribedFailure[];
}

/** Requests that failed in a row for one reason. */
interface DescribedFailure {
  readonly at: string;
  readonly since: string;
  readonly count: number;
  readonly message: string;
}

/** Empty texts, and the subject says so, where a file holds something that is not a certificate behind the first one. */
interface CertificateFacts {
  readonly serial: string;
  readonly subject: string;
  readonly issuer: string;
  /** "URI:spiffe://...", "DNS:..." and so on. */
  readonly subjectAltNames: readonly string[];
  readonly notBefore: string;
  readonly notAfter: string;
  /** SHA-256, in hexadecimal. */
  readonly fingerprint: string;
}

export function describeCertificates(
  resource: string,
  pem: string,
  about: Omit<CertificateDescription, "resource" | "certificates">,
): CertificateDescription {
  return { resource, certificates: splitBundle(pem).map(describeCertificate), ...about };
}

function describeCertificate(pem: string): CertificateFacts {
  try {
    return certificateFacts(pem);
  } catch {
    return UNREADABLE;
  }
}

function certificateFacts(pem: string): CertificateFacts {
  const certificate = new X509Certificate(pem);
  const { serial, names, notBefore, notAfter } = parsePemCertificate(pem);
  return {
    serial,
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    subjectAltNames: names.map((name) => `${name.kind.toUpperCase()}:${name.value}`),
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
  };
}

/** Node prints a distinguished name one part per line. */
function oneLine(name: string | undefined): string {
  return (name ?? "").replaceAll("\n", ", ");
}
