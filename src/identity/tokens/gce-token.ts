import { stat } from "node:fs/promises";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { Secret } from "../../base/secret.ts";
import { wait } from "../../base/wait.ts";
import { replaceFile } from "../../files/replace-file.ts";
import { httpRequest } from "../../net/http-client/http-request.ts";
import { jwtExpiry, parseJwt } from "../../protocol/jwt.ts";
import { TokenError, type TokenFetcher } from "./token-fetcher.ts";

/** Tokens of the metadata server live an hour: this leaves several tries before the end. */
const BEFORE_EXPIRY_SECONDS = 25 * 60;

export interface GceTokenOptions {
  /** Where the token is also written, for other processes of the machine. */
  readonly tokenPath: string;
  /** The token's audience: the trust domain. */
  readonly audience: string;
  readonly identityProvider: string;
  readonly log: Logger;
  /** "http://host:port" of the metadata server; that of Google's machines when absent. */
  readonly metadataUrl?: string;
  readonly refreshIntervalMs?: number;
  readonly attempts?: number;
  readonly attemptDelayMs?: number;
  readonly now?: () => number;
}

const METADATA_URL = "http://169.254.169.254";
const IDENTITY_PATH = "/computeMetadata/v1/instance/service-accounts/default/identity";
const REFRESH_INTERVAL_MS = 5 * 60_000;
const REQUEST_TIMEOUT_MS = 1_000;

/** The identity token of a Google machine: fetched at every call, and in the background when the written one grows old. */
export function startGceTokenFetcher(options: GceTokenOptions): TokenFetcher {
  const { log } = options;
  if (options.tokenPath === "") throw new TokenError("bad-options", "jwtPath is unset");
  const now = options.now ?? Date.now;
  const stopped = new AbortController();
  let latest: string | undefined;
  const refresh = async (signal: AbortSignal): Promise<Secret | undefined> => {
    const raw = await fetchIdentity(options, signal);
    await writeToken(options.tokenPath, raw);
    latest = raw.trim();
    return latest === "" ? undefined : new Secret(latest);
  };
  let refreshing = false;
  const timer = setInterval(() => {
    if (refreshing || !needsRefresh(latest, now() / 1000)) return;
    refreshing = true;
    refresh(stopped.signal)
      .catch((failure: unknown) => {
        log.error("failed to refresh the machine's identity token", { error: errorMessage(failure) });
      })
      .finally(() => {
        refreshing = false;
      });
  }, options.refreshIntervalMs ?? REFRESH_INTERVAL_MS);
  return {
    identityProvider: options.identityProvider,
    fetch: (signal) => refresh(signal === undefined ? stopped.signal : AbortSignal.any([signal, stopped.signal])),
    stop: async () => {
      clearInterval(timer);
      stopped.abort();
    },
  };
}

async function fetchIdentity(options: GceTokenOptions, signal: AbortSignal): Promise<string> {
  const query = `audience=${encodeURIComponent(options.audience)}&format=full`;
  const url = `${options.metadataUrl ?? METADATA_URL}${IDENTITY_PATH}?${query}`;
  const attempts = options.attempts ?? 5;
  let problem = "";
  for (let attempt = 1; attempt <= attempts && !signal.aborted; attempt += 1) {
    if (attempt > 1) await wait(options.attemptDelayMs ?? 200, signal);
    try {
      const headers = { "Metadata-Flavor": "Google" };
      const answer = await httpRequest({ url, headers, timeoutMs: REQUEST_TIMEOUT_MS, signal });
      if (answer.status === 200) return answer.body;
      problem = `status ${answer.status}`;
      if (answer.status < 500) break;
    } catch (failure) {
      problem = errorMessage(failure);
    }
  }
  throw new TokenError("unavailable", `the metadata server gave no identity token: ${problem || "cancelled"}`);
}

/** Readers see the old or the new token. A file that exists keeps its mode. */
async function writeToken(path: string, token: string): Promise<void> {
  try {
    await replaceFile(path, token, { mode: await modeOf(path) });
  } catch (cause) {
    throw new TokenError("unavailable", `cannot write the token to ${path}: ${errorCode(cause)}`, { cause });
  }
}

async function modeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch {
    return 0o640;
  }
}

/** True for no token, one whose expiry cannot be read, and one that ends soon. */
export function needsRefresh(token: string | undefined, nowSeconds: number): boolean {
  if (token === undefined) return true;
  try {
    const expiry = jwtExpiry(parseJwt(token).claims);
    return expiry === undefined || nowSeconds > expiry - BEFORE_EXPIRY_SECONDS;
  } catch {
    return true;
  }
}
