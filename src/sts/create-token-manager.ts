import { cachingManager } from "./caching-manager.ts";
import { type GoogleExchangeOptions, googleTokenManager } from "./google-exchange.ts";
import { noTokenManager, refusingManager, type TokenManager } from "./token-manager.ts";

/**
 * The manager that `--tokenManagerPlugin` names; for an unknown name one that refuses every request. So does Google's without a project:
 * no subject token leaves the machine for an exchange that cannot succeed.
 */
export function createTokenManager(plugin: string, options: GoogleExchangeOptions): TokenManager {
  if (plugin !== "GoogleTokenExchange") return noTokenManager;
  if (options.projectNumber === "") {
    const text = "GoogleTokenExchange token manager specified but failed to ready GCP project information";
    return refusingManager(text);
  }
  return cachingManager(googleTokenManager(options), options.now === undefined ? {} : { now: options.now });
}
