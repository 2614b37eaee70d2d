import { readTextLimited } from "../files/read-file.ts";
import { type FileWatch, watchFiles } from "../files/watch/watch-files.ts";
import type { ExistingCertificates } from "./existing-certificates.ts";
import type { FileName, FileSecrets } from "./files/file-secrets.ts";
import { watchContent } from "./files/watch-content.ts";
import type { SecretManagerOptions } from "./secret-manager-options.ts";

export interface WorkloadFilesOptions {
  readonly manager: SecretManagerOptions;
  readonly existing: ExistingCertificates | undefined;
  readonly files: FileSecrets;
  onKeyPair(): void;
  onRoots(): void;
  onCrl(): void;
}

/** Watches the mounted certificate and the CRL for the manager's whole life: either may appear long after the start. */
export async function watchWorkloadFiles(options: WorkloadFilesOptions): Promise<readonly FileWatch[]> {
  const { existing, manager } = options;
  // At once: each looks at every directory on its way, one after the other.
  return Promise.all([
    ...(existing === undefined
      ? []
      : [
          watchSecret(options, existing.keyPair, options.onKeyPair),
          watchSecret(options, existing.root, options.onRoots),
        ]),
    ...(manager.crlPath === undefined ? [] : [watchCrl(options, manager.crlPath)]),
  ]);
}

async function watchSecret(options: WorkloadFilesOptions, file: FileName, onChange: () => void): Promise<FileWatch> {
  const { files } = options;
  const { fileDebounceMs: debounceMs, log, metrics } = options.manager;
  const version = async () => (await files.read("", file)).version;
  return watchContent({ paths: await files.paths(file), debounceMs, log, metrics, version, onChange });
}

/** A list of revoked certificates is announced by its path; the proxy reads it, so it need not be valid for us. */
async function watchCrl(options: WorkloadFilesOptions, path: string): Promise<FileWatch> {
  const { fileDebounceMs: debounceMs, log, metrics } = options.manager;
  const read = () => readTextLimited(path).catch(() => undefined);
  let known = await read();
  return watchFiles({
    paths: [path],
    debounceMs,
    log,
    onFailure: () => metrics.fileWatcherFailures.inc(),
    onEvent: async () => {
      const content = await read();
      if (content === known) return;
      known = content;
      options.onCrl();
    },
  });
}
