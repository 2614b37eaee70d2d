import { CodedError } from "../../base/coded-error.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import type { JwtRule } from "../../istio-api/specs.ts";
import { keySetReason } from "../../istio-api/validation/request-authentication-keys.ts";
import type { Redirect } from "../../net/http-client/follow-redirects.ts";
import { HttpError, shownUrl } from "../../net/http-client/http-error.ts";
import { httpRequest } from "../../net/http-client/http-request.ts";

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
  if (reason !== undefined) throw new TokenKeysError("bad-answer", `${shownUrl(address)} is not a key set: ${reason}`);
  return text;
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discoverAddress(issuer: string, get: (url: URL) => Promise<string>): Promise<URL> {
  const document = parseAddress(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, "issuer");
  const uri = keysAddressIn(await get(document));
  if (uri === undefined) throw new TokenKeysError("bad-answer", `${shownUrl(document)} names no jwks_uri`);
  const found = parseAddress(uri, "jwks_uri");
  // Whoever can change the keys on their way can sign tokens.
  if (document.protocol === "https:" && found.protocol !== "https:") {
    throw new TokenKeysError("bad-address", `${shownUrl(document)} names a jwks_uri that is not https`);
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
  const answer = await httpRequest({
    url: first,
    timeoutMs: leftMs(),
    maxBytes: MAX_BYTES,
    signal,
    redirects: { maxRequests: MAX_REDIRECTS + 1, allows: checkRedirect },
  }).catch((failure: unknown) => {
    if (!(failure instanceof HttpError) || failure.code !== "redirect") throw failure;
    throw new TokenKeysError("bad-redirect", `${shownUrl(first)} redirects more than ${MAX_REDIRECTS} times`);
  });
  if (answer.status === 200) return answer.body;
  throw new TokenKeysError("bad-answer", `${shownUrl(answer.url)} answers with status ${answer.status}`);
}

function checkRedirect({ from, to }: Redirect): boolean {
  if (to === undefined)
    throw new TokenKeysError("bad-redirect", `${shownUrl(from)} redirects to what is not an address`);
  if (to.protocol === from.protocol) return true;
  const scheme = to.protocol.slice(0, -1);
  throw new TokenKeysError("bad-redirect", `${shownUrl(from)} redirects to another scheme, ${scheme}`);
}

function parseAddress(text: string, from: "jwksUri" | "issuer" | "jwks_uri"): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && ["http:", "https:"].includes(url.protocol)) return url;
  throw new TokenKeysError("bad-address", `the ${from} is not an http or https address`);
}
