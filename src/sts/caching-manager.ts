import { createHash } from "node:crypto";
import { type ExchangeRequest, StsError } from "./core/exchange-request.ts";
import type { IssuedToken, TokenManager } from "./token-manager.ts";

export interface CacheOptions {
  /** A cached token is given out only while more than this is left of it. */
  readonly minLeftMs?: number;
  readonly maxEntries?: number;
  /** Exchanges under way at a time. */
  readonly maxRunning?: number;
  readonly now?: () => number;
}

const MIN_LEFT_MS = 300_000;
/** One workload has one subject and a handful of audiences; a client that makes up new ones must not fill the memory. */
const MAX_ENTRIES = 256;
/** Each is a connection to Google. */
const MAX_RUNNING = 64;

/**
 * Caches tokens by subject, audience and scope, and exchanges once for any number of clients that wait for the same one. A client that
 * goes away does not cancel it for the others.
 */
export function cachingManager(manager: TokenManager, options: CacheOptions = {}): TokenManager {
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
