import { errorMessage } from "../../base/coded-error.ts";
import { httpRequest } from "../../net/http-client/http-request.ts";
import { parseJwks, type VerificationKey } from "../core/jwt.ts";
import { AuthenticationError } from "./authenticator.ts";

/** Where verification keys come from. */
export interface KeySource {
  current(signal: AbortSignal): Promise<readonly VerificationKey[]>;
  /** Looks again, because a token names a key that is not in the list. May return the same list. */
  refreshed(signal: AbortSignal): Promise<readonly VerificationKey[]>;
}

export interface RemoteKeysOptions {
  readonly uri: string;
  /** PEM roots for https. */
  readonly ca?: string | undefined;
  readonly timeoutMs?: number;
  /** Strangers can make up key names: between two fetches at least this time passes. */
  readonly minIntervalMs?: number;
  readonly now?: () => number;
}

const MAX_SHOWN = 256;

/** The keys of a JWKS text. Throws when it is none. */
export function inlineKeys(jwks: string): KeySource {
  const keys = parseJwks(jwks);
  if (keys === undefined)
    throw new AuthenticationError("unavailable", "the inline JWKS is not a JSON object with keys");
  return { current: async () => keys, refreshed: async () => keys };
}

/** The keys of a JWKS address, fetched when first needed and again for unknown keys; one fetch serves all who wait for it. */
export function remoteKeys(options: RemoteKeysOptions): KeySource {
  // Not the wall clock: one that is set back would put off the next fetch.
  const now = options.now ?? (() => performance.now());
  const minIntervalMs = options.minIntervalMs ?? 10_000;
  let keys: readonly VerificationKey[] | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<readonly VerificationKey[]> | undefined;
  const fetchOnce = () => {
    fetching ??= fetchKeys(options)
      .then((fetched) => {
        keys = fetched;
        return fetched;
      })
      .finally(() => {
        fetching = undefined;
        // A failed one counts too: an address that is down is not asked again for every made-up key.
        triedAt = now();
      });
    return fetching;
  };
  return {
    current: async () => keys ?? fetchOnce(),
    refreshed: async () => (keys !== undefined && now() - triedAt < minIntervalMs ? keys : fetchOnce()),
  };
}

async function fetchKeys(options: RemoteKeysOptions): Promise<readonly VerificationKey[]> {
  const keys = parseJwks(await getText(options.uri, options));
  if (keys === undefined) throw new AuthenticationError("unavailable", `${options.uri} did not answer with a JWKS`);
  return keys;
}

/**
 * OIDC discovery: the issuer's own document says where its keys are. Rejects when it cannot be had, or is another issuer's: whoever
 * serves many issuers could otherwise be made to vouch for one with the keys of another (RFC 8414, section 3.3).
 */
export async function discoverKeysUri(issuer: string, options: Omit<RemoteKeysOptions, "uri">): Promise<string> {
  const uri = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const { issuer: named, jwks_uri: keys } = parseDocument(await getText(uri, options));
  if (named !== issuer) {
    const found = typeof named === "string" ? `issuer ${JSON.stringify(named.slice(0, MAX_SHOWN))}` : "no issuer";
    throw new AuthenticationError("unavailable", `${uri} names ${found}, expected ${JSON.stringify(issuer)}`);
  }
  if (typeof keys === "string") return keys;
  throw new AuthenticationError("unavailable", `${uri} names no jwks_uri`);
}

function parseDocument(text: string): Readonly<Record<string, unknown>> {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null ? { ...found } : {};
  } catch {
    return {};
  }
}

async function getText(uri: string, options: Omit<RemoteKeysOptions, "uri">): Promise<string> {
  const tls = options.ca === undefined ? {} : { tls: { ca: options.ca } };
  try {
    const answer = await httpRequest({ url: uri, timeoutMs: options.timeoutMs ?? 5_000, ...tls });
    if (answer.status === 200) return answer.body;
    throw new AuthenticationError("unavailable", `${uri} answered with status ${answer.status}`);
  } catch (cause) {
    if (cause instanceof AuthenticationError) throw cause;
    throw new AuthenticationError("unavailable", `cannot fetch ${uri}: ${errorMessage(cause)}`, { cause });
  }
}
