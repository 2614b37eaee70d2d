import { access } from "node:fs/promises";
import { type BackoffOptions, backoffDelayMs } from "../../base/backoff.ts";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { wait } from "../../base/wait.ts";
import { SYSTEM_ROOT_PATHS } from "../../net/tls/system-roots.ts";
import { bundleProblemsText, parseTrustBundle } from "../../protocol/x509/trust-bundle.ts";
import type { ResourceName } from "../core/resource-name.ts";
import type { IdentityMetrics } from "../metrics.ts";
import { SecretError } from "../secret-error.ts";
import { keyPairSecret, type ServedSecret, trustBundleSecret } from "../secrets.ts";
import { readKeyPairFiles } from "./key-pair-file.ts";
import { readCertificateFile } from "./read-file.ts";

/** Secrets that are files: which files, and how they are read. */
export type FileName = Extract<ResourceName, { kind: "file-key-pair" | "file-root" | "system-root" }>;

export interface FileSecretsOptions {
  /** First retry interval while files are not valid. */
  readonly debounceMs: number;
  /** How long a request waits for valid files. */
  readonly waitMs: number;
  readonly crlPath: string | undefined;
  readonly systemRootPaths: readonly string[] | undefined;
  readonly log: Logger;
  readonly metrics: IdentityMetrics;
}

export interface FileSecrets {
  /** The files behind the name, for watching. */
  paths(file: FileName): Promise<readonly string[]>;
  /** One try; rejects with a `SecretError` while the files are not valid. */
  read(name: string, file: FileName): Promise<ServedSecret>;
  /** Waits for valid files, up to the limit. */
  readWhenValid(name: string, file: FileName, signal: AbortSignal | undefined): Promise<ServedSecret>;
  /** The CRL to announce with a trust bundle at this moment. */
  crlPath(): Promise<string | undefined>;
}

export function createFileSecrets(options: FileSecretsOptions): FileSecrets {
  const read = async (name: string, file: FileName): Promise<ServedSecret> => {
    if (file.kind === "file-key-pair") {
      const { certificate, key } = await readKeyPairFiles(file.certificatePath, file.keyPath);
      return keyPairSecret(name, certificate, key);
    }
    const path = file.kind === "file-root" ? file.path : await systemRoots(options);
    return trustBundleSecret(name, await readRootFile(path, options.log), await crlPath());
  };
  const crlPath = () => existingCrl(options);
  return {
    read,
    crlPath,
    paths: async (file) => {
      if (file.kind === "file-key-pair") return [file.certificatePath, file.keyPath];
      if (file.kind === "file-root") return [file.path];
      const found = await findSystemRoots(options.systemRootPaths);
      return found === undefined ? [] : [found];
    },
    readWhenValid: async (name, file, signal) => {
      const { debounceMs: firstRetryMs, waitMs: limitMs } = options;
      try {
        return await untilValid(() => read(name, file), { firstRetryMs, limitMs, signal });
      } catch (thrown) {
        if (!(thrown instanceof SecretError && thrown.code === "cancelled")) options.metrics.fileSecretFailures.inc();
        throw thrown;
      }
    },
  };
}

async function systemRoots(options: FileSecretsOptions): Promise<string> {
  const path = await findSystemRoots(options.systemRootPaths);
  if (path === undefined) throw new SecretError("bad-file", "file-root:system: the operating system has no CA bundle");
  return path;
}

async function existingCrl(options: FileSecretsOptions): Promise<string | undefined> {
  if (options.crlPath === undefined) return undefined;
  try {
    await access(options.crlPath);
    return options.crlPath;
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
    if (code !== "ENOENT" && code !== "ENOTDIR") {
      options.log.error("CRL file cannot be used", { path: options.crlPath, error: errorMessage(thrown) });
    }
    return undefined;
  }
}

/** The usable certificates of a bundle file. Rejects with a `SecretError` when there is none. */
async function readRootFile(path: string, log: Logger): Promise<Buffer> {
  const { pem, count, problems } = parseTrustBundle((await readCertificateFile(path)).toString("latin1"));
  const reasons = problems.map(({ reason }) => reason).join(" ");
  if (count === 0) throw new SecretError("bad-file", `failed to parse root certs from file ${path}: [${reasons}]`);
  if (problems.length > 0) log.error(`failed to parse some certs from file ${path}: [${bundleProblemsText(problems)}]`);
  return Buffer.from(pem, "latin1");
}

async function findSystemRoots(paths: readonly string[] = SYSTEM_ROOT_PATHS): Promise<string | undefined> {
  for (const path of paths) {
    const found = await access(path).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}

interface UntilValidOptions {
  readonly firstRetryMs: number;
  /** All tries together. */
  readonly limitMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Tries until it works: whoever replaces files needs a moment between the first and the last of them. */
export async function untilValid<Value>(read: () => Promise<Value>, options: UntilValidOptions): Promise<Value> {
  const backoff: BackoffOptions = { initialMs: options.firstRetryMs, maxMs: 60_000, factor: 1.5, jitter: 0.5 };
  const endMs = performance.now() + options.limitMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (cause) {
      const leftMs = endMs - performance.now();
      if (options.signal?.aborted) throw new SecretError("cancelled", "the wait for the file was cancelled", { cause });
      if (leftMs <= 0) {
        const text = `context deadline exceeded with last error: ${errorMessage(cause)}`;
        throw new SecretError("bad-file", text, { cause });
      }
      await wait(Math.min(leftMs, backoffDelayMs(backoff, attempt)), options.signal);
    }
  }
}
