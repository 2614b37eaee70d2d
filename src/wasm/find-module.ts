import { backoffDelayMs } from "../base/backoff.ts";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { Secret } from "../base/secret.ts";
import { wait } from "../base/wait.ts";
import { isMissingFile, readTextLimited } from "../files/read-file.ts";
import { sha256 } from "./cache/module-files.ts";
import type { FoundModule } from "./cache/start-module-cache.ts";
import { findCredential } from "./core/docker-config.ts";
import { type ImageReference, parseOciUrl } from "./core/image-reference.ts";
import { printableUrl } from "./core/printable-url.ts";
import type { RemoteModule } from "./core/remote-module.ts";
import type { HttpClient } from "./fetch/http-client.ts";
import type { WasmMetrics } from "./metrics.ts";
import { prepareImage } from "./oci/prepare-image.ts";
import { unwrapModule } from "./unpack/unwrap-module.ts";
import { WasmError } from "./wasm-error.ts";

const BACKOFF = { initialMs: 500, factor: 1.5, jitter: 0.5, maxMs: 60_000 };
/** Server errors that a second request will not change. */
const FINAL_STATUSES = new Set([501, 505, 511]);

export interface FindModuleOptions {
  readonly client: HttpClient;
  /** Layers may take as long as the whole fetch may. */
  readonly registryClient: HttpClient;
  readonly attempts: number;
  readonly maxBytes: number;
  readonly isInsecure: (host: string) => boolean;
  /** As image indexes spell it. */
  readonly architecture: string;
  /** Credentials for images without a pull secret of their own. */
  readonly dockerConfigPath: string | undefined;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
}

/** Asks whoever the address names what it holds. */
export function findModule(
  module: RemoteModule,
  options: FindModuleOptions,
  signal: AbortSignal,
): Promise<FoundModule> {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(module.url)?.[1]?.toLowerCase();
  if (scheme === "http" || scheme === "https") return findHttp(module, options, signal);
  if (scheme === "oci") return findImage(module, options, signal);
  return Promise.reject(
    new WasmError("unsupported", `unsupported Wasm module downloading URL scheme: ${scheme ?? ""}`),
  );
}

/** The content itself tells what it is, so it is all here at once. */
async function findHttp(module: RemoteModule, options: FindModuleOptions, signal: AbortSignal): Promise<FoundModule> {
  const { client, attempts, maxBytes, metrics, log } = options;
  if (!URL.canParse(module.url))
    throw new WasmError(
      "unsupported",
      `fail to parse Wasm module fetch url: ${JSON.stringify(printableUrl(module.url))}`,
    );
  try {
    const bytes = await fetchHttpModule({ client, url: new URL(module.url), attempts, maxBytes, signal, log });
    const checksum = sha256(bytes);
    return { checksum, checksums: [checksum], load: async () => bytes };
  } catch (failure) {
    metrics.fetches.inc(["download_failure"]);
    throw failure;
  }
}

async function findImage(module: RemoteModule, options: FindModuleOptions, signal: AbortSignal): Promise<FoundModule> {
  try {
    const reference = parseOciUrl(module.url);
    if (reference === undefined)
      throw new WasmError("unsupported", `could not parse image reference ${JSON.stringify(printableUrl(module.url))}`);
    const { repository, registry, digest = reference.tag } = reference;
    options.log.info(`fetching image ${repository} from registry ${registry} with tag ${digest}`);
    const credential = await credentialFor(reference, module, options);
    const image = await prepareImage({ ...options, client: options.registryClient, reference, credential, signal });
    const load = () =>
      image.load().catch((cause: unknown) => {
        throw wrapped("could not fetch Wasm binary", cause);
      });
    return { checksum: image.digest, checksums: image.digests, load };
  } catch (cause) {
    options.metrics.fetches.inc(["manifest_failure"]);
    throw wrapped("could not fetch Wasm OCI image", cause);
  }
}

async function credentialFor(reference: ImageReference, { pullSecret }: RemoteModule, options: FindModuleOptions) {
  const config = pullSecret ?? (await readDockerConfig(options.dockerConfigPath));
  return config === undefined ? undefined : findCredential(config, reference);
}

function wrapped(text: string, cause: unknown): WasmError {
  const code = cause instanceof WasmError ? cause.code : "unreachable";
  return new WasmError(code, `${text}: ${errorMessage(cause)}`, { cause });
}

/** Undefined when there is none, which is the usual case in a sidecar. */
async function readDockerConfig(path: string | undefined): Promise<Secret | undefined> {
  if (path === undefined) return undefined;
  try {
    return new Secret(await readTextLimited(path));
  } catch (cause) {
    if (isMissingFile(cause) || errorCode(cause) === "EACCES") return undefined;
    throw new WasmError("bad-secret", `cannot read ${path}: ${errorCode(cause)}`, { cause });
  }
}

interface FetchHttpOptions {
  readonly client: HttpClient;
  readonly url: URL;
  /** In all; there is always a first one. */
  readonly attempts: number;
  readonly maxBytes: number;
  /** Ends the attempts and the pauses between them. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** The module behind an http or https address, unpacked. */
async function fetchHttpModule(options: FetchHttpOptions): Promise<Buffer> {
  const { client, url, maxBytes, signal } = options;
  const attempts = Math.max(1, options.attempts);
  for (let attempt = 1; ; attempt += 1) {
    const result = await client({ url, maxBytes, signal }).catch((cause: unknown) => asFailure(cause, signal));
    if (!("error" in result) && result.status === 200) return unwrapModule(result.bytes, maxBytes);
    const { error, retry } = "error" in result ? result : statusFailure(result.status);
    options.log.debug(`wasm module download request failed: ${errorMessage(error)}`, { attempt });
    if (retry && attempt < attempts) await wait(backoffDelayMs(BACKOFF, attempt), signal);
    if (retry && attempt < attempts && !signal.aborted) continue;
    const text = `wasm module download failed after ${attempt} attempts, last error: ${errorMessage(error)}`;
    throw new WasmError(error instanceof WasmError ? error.code : "unreachable", text, { cause: error });
  }
}

interface Failure {
  readonly error: unknown;
  readonly retry: boolean;
}

/** An address that is forbidden or an answer that is too large stays so. */
function asFailure(error: unknown, signal: AbortSignal): Failure {
  const passing = error instanceof WasmError && (error.code === "unreachable" || error.code === "timeout");
  return { error, retry: passing && !signal.aborted };
}

function statusFailure(status: number): Failure {
  const error = new WasmError("unreachable", `wasm module download request failed: status code ${status}`);
  return { error, retry: status >= 500 && !FINAL_STATUSES.has(status) };
}
