import type { JwtRule } from "../istio-api/specs.ts";

/** Key sets that were fetched for rules, JSON text, by the name that `tokenKeysName` gives. */
export type TokenKeys = ReadonlyMap<string, string>;

export const NO_TOKEN_KEYS: TokenKeys = new Map();

/** Rules with the same key source share a name. Undefined: the rule has its keys with it. */
export function tokenKeysName({
  jwks,
  jwksUri,
  issuer,
}: Pick<JwtRule, "jwks" | "jwksUri" | "issuer">): string | undefined {
  if (jwks !== "") return undefined;
  return jwksUri === "" ? `issuer ${issuer}` : `keys ${jwksUri}`;
}
