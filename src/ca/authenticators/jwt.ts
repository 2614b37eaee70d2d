import { parseJwt } from "../../protocol/jwt.ts";
import { checkClaims, checkJwtSignature, type SignatureResult } from "../core/jwt.ts";
import { AuthenticationError, type Authenticator, bearerToken } from "./authenticator.ts";
import { discoverKeysUri, inlineKeys, type KeySource, type RemoteKeysOptions, remoteKeys } from "./key-source.ts";

/** A rule as `JWT_RULE` has it, with the keys inline, at an address, or where the issuer's discovery document says. */
export interface JwtRule {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly jwks?: string;
  readonly jwksUri?: string;
}

export interface JwtAuthenticatorOptions {
  readonly rule: JwtRule;
  /** Asked for each token: the mesh's trust domain may change while the server runs. */
  readonly trustDomain: () => string;
  readonly remote?: Omit<RemoteKeysOptions, "uri">;
  readonly now?: () => Date;
}

const NAME = "IDTokenAuthenticator";

/** Accepts service account tokens. Rejects when the keys have to be discovered and cannot be. */
export async function createJwtAuthenticator(options: JwtAuthenticatorOptions): Promise<Authenticator> {
  const keys = await openKeys(options);
  const now = options.now ?? (() => new Date());
  return {
    name: NAME,
    authenticate: async ({ metadata }, signal) => {
      const jwt = parseJwt(bearerToken(metadata));
      const { issuer, audiences } = options.rule;
      // The cheap checks first: a token of another issuer costs neither a signature check nor a fetch.
      const claims = checkClaims(jwt.claims, { issuer, audiences, trustDomain: options.trustDomain() }, now());
      if (!claims.ok) throw new AuthenticationError("refused", claims.reason);
      let result = await checkJwtSignature(jwt, await keys.current(signal));
      // Keys without names, or a name that was used again, look like a wrong signature after the issuer changed them.
      if (result === "unknown-key" || result === "invalid") {
        result = await checkJwtSignature(jwt, await keys.refreshed(signal));
      }
      if (result !== "valid") throw new AuthenticationError("refused", REASONS[result]);
      return { identities: [claims.identity], source: NAME };
    },
  };
}

const REASONS: Readonly<Record<Exclude<SignatureResult, "valid">, string>> = {
  invalid: "the token's signature is wrong",
  "unknown-key": "the token is signed with a key that is not in the JWKS",
  "unsupported-algorithm": "the token's algorithm is not one of RS, PS, ES or EdDSA",
};

async function openKeys({ rule, remote }: JwtAuthenticatorOptions): Promise<KeySource> {
  if (rule.jwks !== undefined) return inlineKeys(rule.jwks);
  return remoteKeys({ ...remote, uri: rule.jwksUri ?? (await discoverKeysUri(rule.issuer, remote ?? {})) });
}
