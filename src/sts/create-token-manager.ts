import { cachingManager } from "./caching-manager.ts";
import { type GoogleExchangeOptions, googleTokenManager } from "./google-exchange.ts";
import { missingProject } from "./google-project.ts";
import { noTokenManager, type TokenManager } from "./token-manager.ts";

/**
 * The manager that `--tokenManagerPlugin` names; for an unknown name one that refuses every request. Throws an `StsError` for Google's
 * without a project: no subject token shall leave the machine for an exchange that cannot succeed.
 */
export function createTokenManager(plugin: string, options: GoogleExchangeOptions): TokenManager {
  if (plugin !== GOOGLE_TOKEN_EXCHANGE) return noTokenManager;
  if (options.projectNumber === "") throw missingProject();
  return cachingManager(googleTokenManager(options), options.now === undefined ? {} : { now: options.now });
}

/** The plug-in that needs a Google project. */
export const GOOGLE_TOKEN_EXCHANGE = "GoogleTokenExchange";
