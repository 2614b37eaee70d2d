import { type Jwt, jwtAudiences, jwtExpiry } from "../../protocol/jwt.ts";
import { workloadIdentity } from "../../protocol/x509/spiffe-id.ts";

export interface ClaimRules {
  readonly issuer: string;
  /** One of them must be among the token's; empty: it does not matter. */
  readonly audiences: readonly string[];
  readonly trustDomain: string;
}

export type ClaimResult =
  | { readonly ok: true; readonly identity: string }
  | { readonly ok: false; readonly reason: string };

const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/;
/** A token may come from a machine whose clock is ahead; one that is over is over. */
const NOT_BEFORE_LEEWAY_SECONDS = 300;

/** Who the claims of a service account token name, if they hold now. */
export function checkClaims(claims: Jwt["claims"], rules: ClaimRules, now: Date): ClaimResult {
  const seconds = now.getTime() / 1000;
  const expiry = jwtExpiry(claims);
  if (claims.iss !== rules.issuer) return refused("the token has another issuer");
  if (expiry === undefined) return refused("the token has no expiry");
  if (expiry <= seconds) return refused("the token has expired");
  if (typeof claims.nbf === "number" && claims.nbf > seconds + NOT_BEFORE_LEEWAY_SECONDS) {
    return refused("the token is not valid yet");
  }
  const [, namespace, account] = SUBJECT.exec(typeof claims.sub === "string" ? claims.sub : "") ?? [];
  if (namespace === undefined || account === undefined) return refused("invalid sub");
  const audiences = jwtAudiences(claims);
  if (rules.audiences.length > 0 && !audiences.some((one) => rules.audiences.includes(one))) {
    return refused("invalid audiences");
  }
  return { ok: true, identity: workloadIdentity(rules.trustDomain, namespace, account) };
}

function refused(reason: string): ClaimResult {
  return { ok: false, reason };
}
