import { Secret } from "../base/secret.ts";
import { CLOUD_PLATFORM_SCOPE, JWT_TOKEN_TYPE, TOKEN_EXCHANGE_GRANT } from "../protocol/google-token.ts";
import { type ExchangeRequest, StsError } from "./core/exchange-request.ts";

export interface IssuedToken {
  readonly accessToken: Secret;
  readonly expiresAtMs: number;
}

/** A token that was issued, without the token. */
export interface TokenStatus {
  readonly type: "federated token" | "access token";
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
}

/** Turns subject tokens into access tokens. Rejects with an `StsError`. */
export interface TokenManager {
  exchange(request: ExchangeRequest, signal: AbortSignal): Promise<IssuedToken>;
  status(): readonly TokenStatus[];
}

/** Stands in for a plug-in that is not there: the server runs and says so to every client. */
export const noTokenManager: TokenManager = {
  exchange: async () => {
    throw new StsError("invalid_target", "no plugin is found");
  },
  status: () => [],
};

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
