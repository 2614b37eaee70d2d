import type {
  JwtAuthentication,
  JwtProvider,
  JwtRequirement,
} from "../../protobuf/gen/envoy/extensions/filters/http/jwt_authn/v3.ts";
import { type HeaderMap, queryValues } from "../match/headers.ts";
import { matchesPath } from "../match/path.ts";
import { signatureProblem } from "./jwt-signature.ts";

export interface TokenFinding {
  /** Undefined: the request may go on. */
  readonly refusal?: { readonly status: 401 | 403; readonly reason: string };
  /** Claims by the name under which later filters find them. */
  readonly claims: Readonly<Record<string, unknown>>;
  readonly headers: HeaderMap;
  /** Issuers whose tokens were found good. */
  readonly issuers: readonly string[];
  /** Routes are to be looked for again. */
  readonly clearsRoute: boolean;
  /** Issuers whose keys are fetched by others than this command. */
  readonly withoutKeys: readonly string[];
}

/** What the filter makes of a request's tokens at a time (milliseconds since 1970). */
export function checkTokens(config: JwtAuthentication, headers: HeaderMap, now: number): TokenFinding {
  const nothing = { claims: {}, headers, issuers: [], clearsRoute: false, withoutKeys: [] };
  if (config.bypassCorsPreflight === true && isPreflight(headers)) return nothing;
  const rule = (config.rules ?? []).find(({ match = {} }) => matchesPath(match, headers[":path"] ?? ""));
  const requirement = rule?.requires ?? config.requirementMap?.[rule?.requirementName ?? ""];
  if (requirement === undefined) return nothing;
  const check = new Check(config.providers ?? {}, headers, now);
  const failure = check.requirement(requirement, Object.keys(config.providers ?? {}));
  return check.finding(failure);
}

export function isPreflight(headers: HeaderMap): boolean {
  return (
    headers[":method"] === "OPTIONS" &&
    (headers.origin ?? "") !== "" &&
    (headers["access-control-request-method"] ?? "") !== ""
  );
}

/** In Envoy's words. */
const MISSING = "Jwt is missing";
const UNKNOWN_ISSUER = "Jwt issuer is not configured";
const WRONG_AUDIENCE = "Audiences in Jwt are not allowed";
const CLOCK_SKEW_S = 60;

interface Token {
  readonly text: string;
  /** The header that carries it; undefined for one in the query or a cookie. */
  readonly header?: string;
}

class Check {
  readonly #good = new Map<
    JwtProvider,
    { readonly token: Token; readonly claims: Readonly<Record<string, unknown>> }
  >();
  readonly #withoutKeys = new Set<string>();

  readonly #providers: Readonly<Record<string, JwtProvider>>;
  readonly #headers: HeaderMap;
  readonly #now: number;

  constructor(providers: Readonly<Record<string, JwtProvider>>, headers: HeaderMap, now: number) {
    this.#providers = providers;
    this.#headers = headers;
    this.#now = now;
  }

  /** The reason of a refusal. `siblings`: providers that stand beside a requirement that allows tokens to be missing. */
  requirement(requirement: JwtRequirement, siblings: readonly string[]): string | undefined {
    const { requiresAny, requiresAll } = requirement;
    if (requiresAny !== undefined) return this.#any(requiresAny.requirements ?? []);
    if (requiresAll !== undefined) {
      const failures = (requiresAll.requirements ?? []).map((one) => this.requirement(one, siblings));
      return failures.find((failure) => failure !== undefined);
    }
    if (requirement.allowMissing !== undefined) return this.#missing(siblings);
    if (requirement.allowMissingOrFailed !== undefined) {
      for (const name of siblings) this.#provider(name);
      return undefined;
    }
    const { providerName, audiences } = requirement.providerAndAudiences ?? {};
    const name = requirement.providerName ?? providerName;
    return name === undefined ? undefined : this.#provider(name, audiences);
  }

  finding(failure: string | undefined): TokenFinding {
    const withoutKeys = [...this.#withoutKeys];
    if (failure !== undefined) {
      const refusal = { status: failure === WRONG_AUDIENCE ? 403 : 401, reason: failure } as const;
      return { refusal, claims: {}, headers: this.#headers, issuers: [], clearsRoute: false, withoutKeys };
    }
    const headers: Record<string, string> = { ...this.#headers };
    const claims: Record<string, unknown> = {};
    for (const [provider, found] of this.#good) {
      if (provider.payloadInMetadata) claims[provider.payloadInMetadata] = normalizedClaims(provider, found.claims);
      for (const { headerName = "", claimName = "" } of provider.claimToHeaders ?? []) {
        const value = found.claims[claimName];
        if (value !== undefined)
          headers[headerName.toLowerCase()] = typeof value === "string" ? value : JSON.stringify(value);
      }
      if (provider.forwardPayloadHeader) {
        headers[provider.forwardPayloadHeader.toLowerCase()] = found.token.text.split(".")[1] ?? "";
      }
      if (provider.forward !== true && found.token.header !== undefined) delete headers[found.token.header];
    }
    const good = [...this.#good.keys()];
    return {
      claims,
      headers,
      issuers: good.map(({ issuer = "" }) => issuer),
      clearsRoute: good.some(({ clearRouteCache }) => clearRouteCache === true),
      withoutKeys,
    };
  }

  /** The first that is met; otherwise the failure that says most. */
  #any(requirements: readonly JwtRequirement[]): string | undefined {
    const beside = requirements.flatMap(({ providerName }) => providerName ?? []);
    // What allows everything is asked last, whatever its place.
    const ordered = [...requirements.filter(isRegular), ...requirements.filter((one) => !isRegular(one))];
    let said: string | undefined;
    for (const one of ordered) {
      const failure = this.requirement(one, beside.length > 0 ? beside : Object.keys(this.#providers));
      if (failure === undefined) return undefined;
      if (said === undefined || said === MISSING || said === UNKNOWN_ISSUER) said = failure;
    }
    return said;
  }

  #missing(names: readonly string[]): string | undefined {
    const tokens = names.flatMap((name) => tokensFor(this.#providers[name] ?? {}, this.#headers));
    if (tokens.length === 0) return undefined;
    const failures = names.map((name) => this.#provider(name));
    if (failures.includes(undefined)) return undefined;
    return failures.find((failure) => failure !== UNKNOWN_ISSUER && failure !== MISSING) ?? UNKNOWN_ISSUER;
  }

  #provider(name: string, audiences?: readonly string[]): string | undefined {
    const provider = this.#providers[name];
    if (provider === undefined) return UNKNOWN_ISSUER;
    const tokens = tokensFor(provider, this.#headers);
    if (tokens.length === 0) return MISSING;
    for (const token of tokens) {
      const problem = this.#problem(provider, token, audiences ?? provider.audiences ?? []);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #problem(provider: JwtProvider, token: Token, audiences: readonly string[]): string | undefined {
    const parsed = parseToken(token.text);
    if (parsed === undefined) return "Jwt is not in the form of Header.Payload.Signature with two dots and 3 sections";
    const { header, claims } = parsed;
    if (provider.issuer !== undefined && claims.iss !== provider.issuer) return UNKNOWN_ISSUER;
    const seconds = this.#now / 1000;
    if (typeof claims.nbf === "number" && seconds + CLOCK_SKEW_S < claims.nbf) return "Jwt not yet valid";
    if (typeof claims.exp === "number" && seconds - CLOCK_SKEW_S > claims.exp) return "Jwt is expired";
    if (audiences.length > 0 && !audiencesOf(claims).some((one) => audiences.map(plainAudience).includes(one))) {
      return WRONG_AUDIENCE;
    }
    const keys = provider.localJwks?.inlineString;
    if (keys === undefined) this.#withoutKeys.add(provider.issuer ?? "");
    const problem = keys === undefined ? undefined : signatureProblem(token.text, header, keys);
    if (problem !== undefined) return problem;
    this.#good.set(provider, { token, claims });
    return undefined;
  }
}

function isRegular({ allowMissing, allowMissingOrFailed }: JwtRequirement): boolean {
  return allowMissing === undefined && allowMissingOrFailed === undefined;
}

function tokensFor(provider: JwtProvider, headers: HeaderMap): readonly Token[] {
  const { fromHeaders = [], fromParams = [], fromCookies = [] } = provider;
  const isDefault = fromHeaders.length + fromParams.length + fromCookies.length === 0;
  const places = isDefault ? [{ name: "authorization", valuePrefix: "Bearer " }] : fromHeaders;
  const query = queryValues(headers[":path"] ?? "");
  const cookies = new Map(
    (headers.cookie ?? "").split(/; */).map((pair) => [pair.split("=")[0], pair.replace(/^[^=]*=/, "")]),
  );
  return [
    ...places.flatMap(({ name = "", valuePrefix = "" }) => {
      const value = headers[name.toLowerCase()];
      const at = value?.indexOf(valuePrefix) ?? -1;
      const text = at === -1 ? "" : (/^[\w.=-]+/.exec(value?.slice(at + valuePrefix.length) ?? "")?.[0] ?? "");
      return text === "" ? [] : [{ text, header: name.toLowerCase() }];
    }),
    ...(isDefault ? ["access_token"] : fromParams).flatMap((name) => query.get(name) ?? []).map((text) => ({ text })),
    ...fromCookies.flatMap((name) => cookies.get(name) ?? []).map((text) => ({ text })),
  ];
}

function parseToken(text: string) {
  const parts = text.split(".");
  if (parts.length !== 3) return undefined;
  const [header, claims] = parts.slice(0, 2).map(parsePart);
  if (header === undefined || claims === undefined) return undefined;
  return { header: { alg: String(header.alg ?? ""), kid: String(header.kid ?? "") }, claims };
}

function parsePart(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

function audiencesOf({ aud }: Readonly<Record<string, unknown>>): readonly string[] {
  return (Array.isArray(aud) ? aud : [aud]).filter((one): one is string => typeof one === "string").map(plainAudience);
}

/** Schemes and a slash at the end do not count. */
function plainAudience(audience: string): string {
  return audience.replace(/^https?:\/\//, "").replace(/\/$/, "");
}

function normalizedClaims(
  provider: JwtProvider,
  claims: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const delimited = provider.normalizePayloadInMetadata?.spaceDelimitedClaims ?? [];
  return Object.fromEntries(
    Object.entries(claims).map(([name, value]) => {
      const isList = typeof value === "string" && delimited.includes(name);
      return [name, isList ? value.split(" ").filter((word) => word !== "") : value];
    }),
  );
}
