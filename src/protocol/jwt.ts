import { CodedError } from "../base/coded-error.ts";
import { isJsonObject } from "../base/json-object.ts";

export class JwtError extends CodedError<"malformed"> {}

/** A token taken apart; nothing about it is proven yet. */
export interface Jwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The bytes that the signature covers. */
  readonly signed: string;
  readonly signature: Buffer;
}

const BASE64URL = /^[A-Za-z0-9_-]*={0,2}$/;
/** Far above any service account token; a stranger's token is not parsed beyond it. */
const MAX_CHARACTERS = 64 * 1024;

/** Three base64url segments, padded or not; the first two hold JSON objects. The error never quotes the token. */
export function parseJwt(token: string): Jwt {
  const parts = token.length > MAX_CHARACTERS ? [] : token.split(".");
  const [header, claims, signature] = parts;
  if (parts.length !== 3 || header === undefined || claims === undefined || signature === undefined) {
    throw new JwtError("malformed", "token is not a JWT: it does not have three segments");
  }
  return {
    header: jsonSegment(header, "header"),
    claims: jsonSegment(claims, "claims"),
    signed: `${header}.${claims}`,
    signature: Buffer.from(signature, "base64url"),
  };
}

/** Seconds since 1970; undefined when the token has no expiry. */
export function jwtExpiry(claims: Jwt["claims"]): number | undefined {
  return typeof claims.exp === "number" ? claims.exp : undefined;
}

/** `aud` is a string or a list of strings. */
export function jwtAudiences(claims: Jwt["claims"]): readonly string[] {
  const { aud } = claims;
  if (typeof aud === "string") return [aud];
  return Array.isArray(aud) ? aud.filter((one): one is string => typeof one === "string") : [];
}

function jsonSegment(segment: string, what: string): Readonly<Record<string, unknown>> {
  try {
    if (BASE64URL.test(segment)) {
      const value: unknown = JSON.parse(Buffer.from(segment, "base64url").toString("utf8"));
      if (isJsonObject(value)) return value;
    }
  } catch {
    // JSON.parse quotes its input in the message: it must not travel as the cause.
  }
  throw new JwtError("malformed", `token is not a JWT: its ${what} is not a JSON object in base64url`);
}
