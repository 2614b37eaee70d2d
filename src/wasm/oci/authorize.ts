import { shownUrl } from "../../net/http-client/http-error.ts";
import { isIP } from "../../net/ip.ts";
import { type AuthChallenge, parseChallenges, realmsOf } from "../core/auth-challenge.ts";
import type { RegistryCredential } from "../core/docker-config.ts";
import { isInternalAddress } from "../fetch/address-rules.ts";
import type { HttpClient } from "../fetch/http-client.ts";
import { WasmError } from "../wasm-error.ts";

const INTERNAL_NAMES = ["localhost", "metadata.google.internal"];

export interface AuthorizeOptions {
  readonly client: HttpClient;
  /** host[:port] of the registry. */
  readonly registry: string;
  readonly repository: string;
  readonly credential: RegistryCredential | undefined;
  /** Whether credentials may go there without TLS. */
  readonly allowsPlain: (url: URL) => boolean;
  readonly signal: AbortSignal;
}

const MAX_TOKEN_BYTES = 1024 * 1024;
const CLIENT_ID = "pilot-agent";

/** The Authorization header that answers the registry's challenges; undefined when there is nothing to say. */
export async function authorize(challenges: readonly string[], options: AuthorizeOptions): Promise<string | undefined> {
  const { credential, registry } = options;
  const realms = new Map(realmsOf(challenges).map((realm) => [realm, parseRealm(realm, registry)]));
  const challenge = parseChallenges(challenges);
  if (credential?.kind === "registry-token") return `Bearer ${credential.token.reveal()}`;
  if (challenge === undefined) return undefined;
  if (challenge.scheme === "basic")
    return credential?.kind === "basic" ? `Basic ${credential.basic.reveal()}` : undefined;
  const realm = realms.get(challenge.realm) ?? parseRealm(challenge.realm, registry);
  return `Bearer ${await fetchToken(realm, challenge, options)}`;
}

/** A registry may always name itself: it is being talked to anyway. */
function parseRealm(realm: string, registry: string): URL {
  const own = URL.canParse(realm) ? new URL(realm) : undefined;
  const isHttp = own?.protocol === "http:" || own?.protocol === "https:";
  return own !== undefined && isHttp && own.host === registry ? own : checkRealm(realm);
}

async function fetchToken(
  realm: URL,
  challenge: AuthChallenge & { readonly scheme: "bearer" },
  options: AuthorizeOptions,
): Promise<string> {
  const { client, credential, repository, signal, allowsPlain } = options;
  if (credential !== undefined && realm.protocol === "http:" && !allowsPlain(realm))
    throw new WasmError("blocked", `credentials are not sent over plain http to ${shownUrl(realm)}`);
  const scope = challenge.scope === "" ? `repository:${repository}:pull` : challenge.scope;
  const words = new URLSearchParams({ scope, ...(challenge.service !== "" && { service: challenge.service }) });
  const common = { maxBytes: MAX_TOKEN_BYTES, signal };
  const answer =
    credential?.kind === "identity-token"
      ? await client({
          ...common,
          url: realm,
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: refreshForm(words, credential.token.reveal()),
        })
      : await client({
          ...common,
          url: withQuery(realm, words),
          headers: credential?.kind === "basic" ? { authorization: `Basic ${credential.basic.reveal()}` } : {},
        });
  if (answer.status !== 200)
    throw new WasmError("unreachable", `${shownUrl(realm)}: unexpected status code ${answer.status} for a token`);
  return readToken(answer.body, realm);
}

function refreshForm(words: URLSearchParams, token: string): string {
  const form = new URLSearchParams(words);
  form.set("grant_type", "refresh_token");
  form.set("client_id", CLIENT_ID);
  form.set("refresh_token", token);
  return form.toString();
}

function withQuery(realm: URL, words: URLSearchParams): URL {
  const url = new URL(realm.href);
  for (const [name, value] of words) url.searchParams.append(name, value);
  return url;
}

function readToken(body: string, realm: URL): string {
  try {
    const { token, access_token: accessToken } = JSON.parse(body);
    const found = typeof token === "string" && token !== "" ? token : accessToken;
    // A token with line breaks would be a header of its own.
    if (typeof found === "string" && /^[\x21-\x7e]+$/.test(found)) return found;
  } catch {
    // The parser's message would quote what may be a token.
    throw new WasmError("unreachable", `${shownUrl(realm)}: the answer is not a JSON document`);
  }
  throw new WasmError("unreachable", `${shownUrl(realm)}: the answer has no token`);
}

/**
 * A registry names the address that gets its clients' credentials; it must not be able to name one inside the cluster or the machine.
 * Names that resolve to such addresses are the concern of the address rules at the time of the connection.
 */
export function checkRealm(realm: string): URL {
  const url = URL.canParse(realm) ? new URL(realm) : undefined;
  if (url === undefined) throw unsafe("it is not an address");
  if (url.protocol !== "http:" && url.protocol !== "https:") throw unsafe(`its scheme is ${url.protocol}`);
  const host = url.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  if (host === "") throw unsafe("it has no host");
  if (INTERNAL_NAMES.some((name) => host === name || host.endsWith(`.${name}`))) throw unsafe(`its host is ${host}`);
  if (isIP(host) !== 0 && isInternalAddress(host)) throw unsafe(`its host is ${host}`);
  return url;
}

function unsafe(why: string): WasmError {
  return new WasmError("blocked", `rejected unsafe bearer realm: ${why}`);
}
