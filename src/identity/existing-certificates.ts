import { dirname, resolve } from "node:path";
import type { FileName } from "./files/file-secrets.ts";
import { readCertificateFile } from "./files/read-file.ts";

/** Where a certificate may be mounted instead of being issued. */
export interface ExistingCertificatePaths {
  readonly certificateChain: string;
  readonly key: string;
  readonly root: string;
}

export interface ExistingCertificates {
  readonly keyPair: FileName;
  readonly root: FileName;
  /** True from the moment the files were there and not empty, for good: a file being rewritten is not a reason to ask a CA. */
  hasKeyPair(): Promise<boolean>;
  hasRoot(): Promise<boolean>;
}

/** Files in the directory the agent writes to itself are output, never input. */
export function createExistingCertificates(
  paths: ExistingCertificatePaths | undefined,
  outputDirectory: string | undefined,
): ExistingCertificates | undefined {
  if (paths === undefined) return undefined;
  if (outputDirectory !== undefined && resolve(outputDirectory) === resolve(dirname(paths.certificateChain)))
    return undefined;
  return {
    keyPair: { kind: "file-key-pair", certificatePath: paths.certificateChain, keyPath: paths.key },
    root: { kind: "file-root", path: paths.root },
    hasKeyPair: memoizedPresence([paths.certificateChain, paths.key]),
    hasRoot: memoizedPresence([paths.root]),
  };
}

function memoizedPresence(paths: readonly string[]): () => Promise<boolean> {
  let seen = false;
  return async () => {
    seen ||= (await Promise.all(paths.map(hasContent))).every(Boolean);
    return seen;
  };
}

/** Looked into, not only at: container engines make a directory where a file to mount is missing, and others' files may be closed to us. */
async function hasContent(path: string): Promise<boolean> {
  return readCertificateFile(path).then(
    (content) => content.length > 0,
    () => false,
  );
}
