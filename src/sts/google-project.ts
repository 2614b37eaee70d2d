import { errorMessage } from "../base/coded-error.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { StsError } from "./core/exchange-request.ts";

const METADATA_URL = "http://169.254.169.254";

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

export function missingProject(why?: string): StsError {
  const text = "GoogleTokenExchange token manager specified but failed to ready GCP project information";
  return new StsError("invalid_target", why === undefined ? text : `${text}: ${why}`);
}
