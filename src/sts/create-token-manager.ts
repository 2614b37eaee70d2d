import { createHash } from "node:crypto";
import { errorMessage } from "../base/coded-error.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { type ExchangeRequest, StsError } from "./core/exchange-request.ts";
import { type GoogleExchangeOptions, googleTokenManager } from "./google-exchange.ts";
import { type IssuedToken, noTokenManager, type TokenManager } from "./token-manager.ts";

const MIN_LEFT_MS = 300_000;
/** One workload has one subject and a handful of audiences; a client that makes up new ones must not fill the memory. */
const MAX_ENTRIES = 256;
/** Each is a connection to Google. */
const MAX_RUNNING = 64;

/** The plug-in that needs a Google project. */
export const GOOGLE_TOKEN_EXCHANGE = "GoogleTokenExchange";

const METADATA_URL = "http://169.254.169.254";

/**
 * The manager that `--tokenManagerPlugin` names; for an unknown name one that refuses every request. Throws an `StsError` for Google's
 * without a project: no subject token shall leave the machine for an exchange that cannot succeed.
 */
export function createTokenManager(plugin: string, options: GoogleExchangeOptions): TokenManager {
  if (plugin !== GOOGLE_TOKEN_EXCHANGE) return noTokenManager;
  if (options.projectNumber === "") throw missingProject();
  return cachingManager(googleTokenManager(options), options.now === undefined ? {} : { now: options.now });
}

/** The project's number, from the metadata server. Rejects when this is not a Google machine. */
export async function readProjectNumber(metadataUrl = METADATA_URL, signal?: AbortSignal): Promise<string> {
  try {
    const answer = await httpRequest({
      url: `${metadataUrl}/computeMetadata/v1/project/numeric-project-id`,
      headers: { "Metadata-Flavor": "Google" },
      timeoutMs: 2_000,
      signal,
    });
    const number = answer.body.trim();
    if (answer.status === 200 && /^\d+$/.test(number)) return number;
    throw missingProject(`status ${answer.status}`);
  } catch (failure) {
    throw failure instanceof StsError ? failure : missingProject(errorMessage(failure));
  }
}

function missingProject(why?: string): StsError {
  const text = "GoogleTokenExchange token manager specified but failed to ready GCP project information";
  return new StsError("invalid_target", why === undefined ? text : `${text}: ${why}`);
}

interface CacheOptions {
  /** A cached token is given out only while more than this is left of it. */
  readonly minLeftMs?: number;
  readonly maxEntries?: number;
  /** Exchanges under way at a time. */
  readonly maxRunning?: number;
  readonly now?: () => number;
}

/**
 * Caches tokens by subject, audience and scope, and exchanges once for any number of clients that wait for the same one. A client that
 * goes away does not cancel it for the others.
 */
function cachingManager(manager: TokenManager, options: CacheOptions = {}): TokenManager {
  const now = options.now ?? Date.now;
  const minLeftMs = options.minLeftMs ?? MIN_LEFT_MS;
  const cached = new Map<string, IssuedToken>();
  const running = new Map<string, Promise<IssuedToken>>();
  const isFresh = (token: IssuedToken) => token.expiresAtMs - now() > minLeftMs;
  const store = (key: string, token: IssuedToken) => {
    for (const [known, entry] of cached) if (!isFresh(entry)) cached.delete(known);
    if (!isFresh(token)) return;
    const [oldest] = cached.keys();
    if (cached.size >= (options.maxEntries ?? MAX_ENTRIES) && oldest !== undefined) cached.delete(oldest);
    cached.set(key, token);
  };
  const exchangeOnce = (key: string, request: ExchangeRequest, signal: AbortSignal) => {
    const known = running.get(key);
    if (known !== undefined) return known;
    if (running.size >= (options.maxRunning ?? MAX_RUNNING)) {
      throw new StsError("invalid_target", "too many token exchanges at a time");
    }
    const exchange = manager
      .exchange(request, signal)
      .then((token) => {
        store(key, token);
        return token;
      })
      .finally(() => running.delete(key));
    running.set(key, exchange);
    return exchange;
  };
  return {
    exchange: async (request, signal) => {
      const key = cacheKey(request);
      const known = cached.get(key);
      return known !== undefined && isFresh(known) ? known : exchangeOnce(key, request, signal);
    },
    status: () => manager.status(),
  };
}

/** A digest, so that no subject token stays in memory as a key. */
function cacheKey(request: ExchangeRequest): string {
  const parts = [request.subjectToken.reveal(), request.audience, request.scope, request.resource];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64");
}
