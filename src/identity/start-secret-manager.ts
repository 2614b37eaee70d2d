import { CloseStack } from "../base/close-stack.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import { TRUST_BUNDLE_NAME, WORKLOAD_NAME } from "./core/resource-name.ts";
import type { CertificateDescription } from "./describe-certificates.ts";
import { describeManager } from "./describe-manager.ts";
import { createExistingCertificates } from "./existing-certificates.ts";
import { createFileNameWatches } from "./file-name-watches.ts";
import { createFileSecrets, type FileSecrets } from "./files/file-secrets.ts";
import { createListeners } from "./listeners.ts";
import { openRotation } from "./open-rotation.ts";
import { outputFiles } from "./output/output-files.ts";
import { startOutput } from "./output/start-output.ts";
import type { Rotation } from "./rotation.ts";
import {
  DEFAULT_FILE_WAIT_MS,
  DEFAULT_TUNING,
  type SecretManagerOptions,
  usableDebounceMs,
} from "./secret-manager-options.ts";
import { createSecretRouter, type SecretRouter } from "./secret-router.ts";
import { watchWorkloadFiles } from "./watch-workload-files.ts";
import { createWorkloadSecrets } from "./workload-secrets.ts";

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
  const unknownNames = options.unknownNames ?? "reject";
  return toHandle({
    ...createSecretRouter({ workload, files, fileWatches, listeners, unknownNames }),
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
