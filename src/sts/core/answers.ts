import { ACCESS_TOKEN_TYPE } from "../../protocol/google-token.ts";
import type { IssuedToken, TokenStatus } from "../token-manager.ts";
import type { StsError } from "./exchange-request.ts";

export interface JsonAnswer {
  readonly status: number;
  readonly body: string;
}

/** Every key is always there: clients of this server have parsed it that way for years. */
export function successAnswer(token: IssuedToken, nowMs: number): JsonAnswer {
  const document = {
    access_token: token.accessToken.reveal(),
    issued_token_type: ACCESS_TOKEN_TYPE,
    token_type: "Bearer",
    expires_in: Math.max(0, Math.floor((token.expiresAtMs - nowMs) / 1000)),
    scope: "",
    refresh_token: "",
  };
  return { status: 200, body: JSON.stringify(document, null, 1) };
}

/** 400 for what the client can mend, 500 for what it cannot. */
export function errorAnswer(failure: Pick<StsError, "code" | "message">): JsonAnswer {
  const document = { error: failure.code, error_description: failure.message, error_uri: "" };
  return { status: failure.code === "invalid_request" ? 400 : 500, body: JSON.stringify(document, null, 2) };
}

/** Times only; the token member is there, and empty. */
export function statusAnswer(tokens: readonly TokenStatus[]): JsonAnswer {
  const document = {
    tokens: tokens.map((token) => ({
      token_type: token.type,
      issue_time: new Date(token.issuedAtMs).toISOString(),
      expire_time: new Date(token.expiresAtMs).toISOString(),
      token: "",
    })),
  };
  return { status: 200, body: JSON.stringify(document, null, 1) };
}
