import { CodedError } from "../../base/coded-error.ts";
import { Secret } from "../../base/secret.ts";
import { JWT_TOKEN_TYPE, TOKEN_EXCHANGE_GRANT } from "../../protocol/google-token.ts";
import { jwtAudiences, parseJwt } from "../../protocol/jwt.ts";

/** RFC 8693, section 2.1. Optional members are empty when absent. */
export interface ExchangeRequest {
  readonly grantType: string;
  readonly subjectToken: Secret;
  readonly subjectTokenType: string;
  readonly resource: string;
  readonly audience: string;
  readonly scope: string;
  readonly requestedTokenType: string;
  readonly actorToken: Secret;
  readonly actorTokenType: string;
}

const FORM = "application/x-www-form-urlencoded";

/** Method and headers; throws an `StsError` that is the client's to mend. */
export function checkHead(method: string, contentType: string | undefined): void {
  if (method !== "POST") throw invalid(`request method is invalid, should be POST but get ${method}`);
  const mediaType = (contentType ?? "").split(";")[0]?.trim().toLowerCase();
  if (mediaType === FORM) return;
  throw invalid(`request content type is invalid, should be ${FORM} but get ${contentType ?? ""}`);
}

/** The body; only its fields count, not those of the query string. */
export function parseExchangeRequest(body: string): ExchangeRequest {
  const badEscape = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(body)?.[0];
  if (badEscape !== undefined) {
    // The escape alone is shown: what stands around it may be the token.
    throw invalid(`failed to parse query from STS request: invalid URL escape ${JSON.stringify(badEscape)}`);
  }
  const fields = new URLSearchParams(body);
  const field = (name: string) => fields.get(name) ?? "";
  expectValue("request query grant_type", field("grant_type"), TOKEN_EXCHANGE_GRANT);
  if (field("subject_token") === "") throw invalid("subject_token is empty");
  expectValue("subject_token_type", field("subject_token_type"), JWT_TOKEN_TYPE);
  return {
    grantType: field("grant_type"),
    subjectToken: new Secret(field("subject_token")),
    subjectTokenType: field("subject_token_type"),
    resource: field("resource"),
    audience: field("audience"),
    scope: field("scope"),
    requestedTokenType: field("requested_token_type"),
    actorToken: new Secret(field("actor_token")),
    actorTokenType: field("actor_token_type"),
  };
}

function expectValue(name: string, value: string, wanted: string): void {
  if (value !== wanted) throw invalid(`${name} is invalid, should be ${wanted} but get ${value}`);
}

function invalid(text: string): StsError {
  return new StsError("invalid_request", text);
}

/** Why a token was not issued. The code is RFC 6749's and RFC 8693's `error`; messages never quote a token. */
export class StsError extends CodedError<"invalid_request" | "invalid_target"> {}

/** The workload pool that a subject token is made for: its one audience; the trust domain when it has none or several. */
export function identityNamespace(subjectToken: string, trustDomain: string): string {
  try {
    const audiences = jwtAudiences(parseJwt(subjectToken).claims);
    const [only] = audiences;
    return audiences.length === 1 && only !== undefined && only !== "" ? only : trustDomain;
  } catch {
    // Google decides whether it is a token at all.
    return trustDomain;
  }
}
