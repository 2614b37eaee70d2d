import { Secret } from "../base/secret.ts";
import { CLOUD_PLATFORM_SCOPE, JWT_TOKEN_TYPE, TOKEN_EXCHANGE_GRANT } from "../protocol/google-token.ts";
import { StsError } from "./sts-error.ts";
import type { TokenManager } from "./token-manager.ts";

/** An access token for calls of this process itself (xDS with `XDS_AUTH_PROVIDER=gcp`), from the same cache as Envoy's. */
export async function fetchAccessToken(manager: TokenManager, subject: Secret, signal: AbortSignal): Promise<Secret> {
  if (subject.reveal() === "") throw new StsError("invalid_request", "subject_token is empty");
  const none = new Secret("");
  const { accessToken } = await manager.exchange(
    {
      grantType: TOKEN_EXCHANGE_GRANT,
      subjectToken: subject,
      subjectTokenType: JWT_TOKEN_TYPE,
      resource: "",
      audience: "",
      scope: CLOUD_PLATFORM_SCOPE,
      requestedTokenType: "",
      actorToken: none,
      actorTokenType: "",
    },
    signal,
  );
  return accessToken;
}
