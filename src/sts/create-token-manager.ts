import { cachingManager } from "./caching-manager.ts";
import { type GoogleExchangeOptions, googleTokenManager } from "./google-exchange.ts";
import { noTokenManager, type TokenManager } from "./token-manager.ts";

/** The manager that `--tokenManagerPlugin` names; for an unknown name one that refuses every request. */
export function createTokenManager(plugin: string, options: GoogleExchangeOptions): TokenManager {
  if (plugin !== "GoogleTokenExchange") return noTokenManager;
  return cachingManager(googleTokenManager(options), options.now === undefined ? {} : { now: options.now });
}
