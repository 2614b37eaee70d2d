import type { Secret } from "../base/secret.ts";
import type { ExchangeRequest } from "./core/exchange-request.ts";
import { StsError } from "./sts-error.ts";

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
