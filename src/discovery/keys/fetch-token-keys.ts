import { CodedError } from "../../base/coded-error.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import type { JwtRule } from "../../istio-api/specs/security.ts";
import { keySetReason } from "../../istio-api/validation/request-authentication-keys.ts";
import { httpRequest } from "../../net/http-request.ts";

/** Keys could not be had. Messages name addresses without what may be secret in them, and nothing of what was answered. */
export class TokenKeysError extends CodedError<"bad-address" | "bad-answer" | "bad-redirect"> {}

export interface FetchLimits {
  /** For everything together: redirects and the issuer's document as well. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export const MAX_BYTES = 1024 * 1024;
const MAX_REDIRECTS = 5;
/** The key set of a rule, from its own address or from the one that its issuer names. */
export async function fetchTokenKeys(
  { jwksUri, issuer }: Pick<JwtRule, "jwksUri" | "issuer">,
  { timeoutMs, signal }: FetchLimits,
): Promise<string> {
  const endsAt = performance.now() + Math.min(timeoutMs, MAX_TIMER_MS);
  const get = (url: URL) => getText(url, () => Math.max(1, endsAt - performance.now()), signal);
  const address = jwksUri === "" ? await discoverAddress(issuer, get) : parseAddress(jwksUri, "jwksUri");
  const text = await get(address);
  const reason = keySetReason(text);
  if (reason !== undefined) throw new TokenKeysError("bad-answer", `${shown(address)} is no key set: ${reason}`);
  return text;
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discoverAddress(issuer: string, get: (url: URL) => Promise<string>): Promise<URL> {
  const document = parseAddress(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, "issuer");
  const uri = keysAddressIn(await get(document));
  if (uri === undefined) throw new TokenKeysError("bad-answer", `${shown(document)} names no jwks_uri`);
  const found = parseAddress(uri, "jwks_uri");
  // Whoever can change the keys on their way can sign tokens.
  if (document.protocol === "https:" && found.protocol !== "https:") {
    throw new TokenKeysError("bad-address", `${shown(document)} names a jwks_uri that is not https`);
  }
  return found;
}

function keysAddressIn(text: string): string | undefined {
  try {
    const document: unknown = JSON.parse(text);
    const isObject = typeof document === "object" && document !== null;
    return isObject && "jwks_uri" in document && typeof document.jwks_uri === "string" ? document.jwks_uri : undefined;
  } catch {
    return undefined;
  }
}

async function getText(first: URL, leftMs: () => number, signal: AbortSignal): Promise<string> {
  let url = first;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const answer = await httpRequest({ url: url.href, timeoutMs: leftMs(), maxBytes: MAX_BYTES, signal });
    const { location } = answer.headers;
    if (answer.status === 200) return answer.body;
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) {
      throw new TokenKeysError("bad-answer", `${shown(url)} answers with status ${answer.status}`);
    }
    url = redirected(url, location);
  }
  throw new TokenKeysError("bad-redirect", `${shown(first)} redirects more than ${MAX_REDIRECTS} times`);
}

function redirected(from: URL, location: string): URL {
  if (!URL.canParse(location, from.href)) {
    throw new TokenKeysError("bad-redirect", `${shown(from)} redirects to what is no address`);
  }
  const to = new URL(location, from);
  if (to.protocol === from.protocol) return to;
  throw new TokenKeysError("bad-redirect", `${shown(from)} redirects to another scheme, ${to.protocol.slice(0, -1)}`);
}

function parseAddress(text: string, from: "jwksUri" | "issuer" | "jwks_uri"): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ["http:", "https:"].includes(url.protocol)) return url;
  throw new TokenKeysError("bad-address", `the ${from} is not an http or https address`);
}

/** Queries and user names may be secret. */
function shown({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`;
}
