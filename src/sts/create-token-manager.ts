import { errorMessage } from "../base/coded-error.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { cachingManager } from "./caching-manager.ts";
import { StsError } from "./core/exchange-request.ts";
import { type GoogleExchangeOptions, googleTokenManager } from "./google-exchange.ts";
import { noTokenManager, type TokenManager } from "./token-manager.ts";

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
