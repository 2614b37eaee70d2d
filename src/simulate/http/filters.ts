import { messageIn, typeNameIn } from "../../protobuf/envoy/message-in.ts";
import type { Route } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { CorsPolicy } from "../../protobuf/gen/envoy/extensions/filters/http/cors/v3.ts";
import type { ExtAuthz } from "../../protobuf/gen/envoy/extensions/filters/http/ext_authz/v3.ts";
import type { HTTPFault } from "../../protobuf/gen/envoy/extensions/filters/http/fault/v3.ts";
import type { JwtAuthentication } from "../../protobuf/gen/envoy/extensions/filters/http/jwt_authn/v3.ts";
import type { RBAC as RbacFilter } from "../../protobuf/gen/envoy/extensions/filters/http/rbac/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { AnyMessage } from "../../protobuf/json-types.ts";
import type { Connection } from "../connection/connection.ts";
import { type Branch, type Decision, only } from "../decision.ts";
import { type HeaderMap, matchesHeader } from "../match/headers.ts";
import { matchesText } from "../match/text.ts";
import { decide, type Place } from "../mesh.ts";
import { ending, type Passage } from "../passage.ts";
import { checkTokens, isPreflight } from "./jwt.ts";
import { enforce } from "./rbac.ts";
import { fractionOf, type Metadata, matchesMetadata } from "./route.ts";

/** A request between two filters. */
export interface FilterState {
  readonly headers: HeaderMap;
  readonly metadata: Metadata;
  readonly flags: readonly string[];
  /** Set by a filter after which routes are looked for again. */
  readonly clearsRoute: boolean;
}

export interface FilterContext {
  readonly place: Place;
  readonly connection: Connection;
  /** SPIFFE name of the client, where this proxy ended its TLS. */
  readonly identity: string | undefined;
  readonly route: Route | undefined;
}

export type Filtered = FilterState | Extract<Passage, { ends: unknown }>;

/** What one filter makes of a request. Filters that are not known are named: they may do anything. */
export function applyFilter(
  filter: HttpFilter,
  state: FilterState,
  context: FilterContext,
): readonly Branch<Filtered>[] {
  const { name = "", typedConfig } = filter;
  const perRoute = context.route?.typedPerFilterConfig?.[name];
  const kind = typeNameIn(typedConfig);
  switch (kind) {
    case "envoy.extensions.filters.http.fault.v3.HTTPFault":
      return applyFault(messageIn(perRoute ?? typedConfig, kind) ?? {}, state, context);
    case "envoy.extensions.filters.http.cors.v3.Cors":
      return applyCors(messageIn(perRoute, "envoy.extensions.filters.http.cors.v3.CorsPolicy"), state, context);
    case "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication":
      return applyJwt(messageIn(typedConfig, kind) ?? {}, state, context);
    case "envoy.extensions.filters.http.rbac.v3.RBAC":
      return applyRbac(rulesOf(messageIn(typedConfig, kind), perRoute), state, context);
    case "envoy.extensions.filters.http.ext_authz.v3.ExtAuthz":
      return applyExtAuthz(messageIn(typedConfig, kind) ?? {}, state, context);
    case "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit":
      return only(
        state,
        decide(context.place, "rate limit", `${name}: requests above its limit get 429; this one is taken to be below`),
      );
  }
  if (SILENT.test(kind)) return only(state);
  return only(
    state,
    decide(
      context.place,
      "filter",
      `${name} (${kind || "configured elsewhere"}) is not simulated: it may change or end the request`,
    ),
  );
}

/** What changes nothing of where a request goes. */
const SILENT = /\.(Router|GrpcWeb|GrpcStats|FilterConfig|Stats|MetadataExchange|AlpnFilter)$/;

function applyFault(fault: HTTPFault, state: FilterState, { place }: FilterContext): readonly Branch<Filtered>[] {
  const { delay, abort, headers = [] } = fault;
  if (!headers.every((matcher) => matchesHeader(matcher, state.headers))) return only(state);
  const delayed = fractionOf(delay?.percentage) ?? 0;
  const aborted = fractionOf(abort?.percentage) ?? 0;
  const slow = decide(place, "fault", `delayed by ${delay?.fixedDelay} (${percent(delayed)} of the requests)`);
  const parts: readonly Branch<FilterState>[] = [
    { share: delayed, decisions: [slow], value: { ...state, flags: [...state.flags, "DI"] } },
    { share: 1 - delayed, decisions: [], value: state },
  ].filter(({ share }) => share > 0);
  if (aborted === 0) return parts;
  const status = abort?.httpStatus ?? 200;
  const words = abort?.grpcStatus === undefined ? `${status}` : `gRPC status ${abort.grpcStatus}`;
  return parts.flatMap(({ share, decisions, value }): readonly Branch<Filtered>[] => {
    const end = ending("aborted", `aborted by a fault with ${words}`, { status, flags: [...value.flags, "FI"] });
    const text = `aborted with ${words} (${percent(aborted)} of the requests)`;
    const ends = { share: share * aborted, decisions: [...decisions, decide(place, "fault", text)], value: end };
    const goes = { share: share * (1 - aborted), decisions, value };
    return [ends, goes].filter((branch) => branch.share > 0);
  });
}

export function percent(share: number): string {
  return `${Number((share * 100).toFixed(4))} %`;
}

function applyCors(
  policy: CorsPolicy | undefined,
  state: FilterState,
  { place }: FilterContext,
): readonly Branch<Filtered>[] {
  const { headers } = state;
  if (policy === undefined || (headers.origin ?? "") === "") return only(state);
  const enabled = fractionOf(policy.filterEnabled?.defaultValue) ?? 1;
  const isAllowed = (policy.allowOriginStringMatch ?? []).some((matcher) => matchesText(matcher, headers.origin ?? ""));
  if (enabled === 0 || !isPreflight(headers)) return only(state);
  if (isAllowed) {
    const text = `a preflight request of ${headers.origin} is answered`;
    return only(
      ending("direct-response", "CORS preflight", { status: 200, flags: state.flags }),
      decide(place, "cors", text),
    );
  }
  if (policy.forwardNotMatchingPreflights === false) {
    const text = `a preflight request of ${headers.origin}, which is not allowed, is answered without leave`;
    return only(
      ending("direct-response", "CORS preflight", { status: 200, flags: state.flags }),
      decide(place, "cors", text),
    );
  }
  return only(
    state,
    decide(place, "cors", `${headers.origin} is not allowed: the preflight request goes on to the application`),
  );
}

function applyJwt(
  config: JwtAuthentication,
  state: FilterState,
  { place }: FilterContext,
): readonly Branch<Filtered>[] {
  const found = checkTokens(config, state.headers, place.mesh.now);
  const keyless = found.withoutKeys.map((issuer) =>
    decide(place, "authentication", `the signature is not checked: Envoy fetches the keys of ${issuer}`, {
      kind: "token-rule",
      issuer,
    }),
  );
  if (found.refusal !== undefined) {
    const { status, reason } = found.refusal;
    const issuers = Object.values(config.providers ?? {}).map(({ issuer = "" }) => issuer);
    const subjects = issuers.map((issuer) => ({ kind: "token-rule" as const, issuer }));
    const refused = decide(place, "authentication", `refused: ${reason}`, ...subjects);
    return only(
      ending("unauthenticated", `refused by ${place.proxy.name}: ${reason}`, { status, flags: state.flags }),
      ...keyless,
      refused,
    );
  }
  const metadata = { ...state.metadata, "envoy.filters.http.jwt_authn": found.claims };
  const good = found.issuers.map((issuer) =>
    decide(place, "authentication", `the token of ${issuer} is good`, { kind: "token-rule", issuer }),
  );
  const none =
    good.length === 0 ? [decide(place, "authentication", "no token is presented, which token rules allow")] : [];
  const next = { ...state, headers: found.headers, metadata, clearsRoute: state.clearsRoute || found.clearsRoute };
  return only(next, ...keyless, ...good, ...none);
}

/** A route may bring rules of its own. */
function rulesOf(config: RbacFilter = {}, perRoute: AnyMessage | undefined): RbacFilter {
  if (perRoute === undefined) return config;
  return messageIn(perRoute, "envoy.extensions.filters.http.rbac.v3.RBACPerRoute")?.rbac ?? {};
}

function applyRbac(filter: RbacFilter, state: FilterState, context: FilterContext): readonly Branch<Filtered>[] {
  const { place, connection, identity } = context;
  const result = judge(place, filter, { connection, identity, headers: state.headers, metadata: state.metadata });
  if (!result.allowed) {
    return only(
      ending("denied", `denied by ${place.proxy.name}: ${result.reason}`, { status: 403, flags: state.flags }),
      ...result.decisions,
    );
  }
  const before = state.metadata["envoy.filters.http.rbac"];
  const metadata = { ...state.metadata, "envoy.filters.http.rbac": { ...before, ...result.notes } };
  return only({ ...state, metadata }, ...result.decisions);
}

interface Judgement {
  readonly allowed: boolean;
  readonly reason: string;
  readonly notes: Readonly<Record<string, string>>;
  readonly decisions: readonly Decision[];
}

/** What the rules of one RBAC filter say; the same for HTTP and for connections. */
export function judge(
  place: Place,
  {
    rules,
    shadowRules,
    shadowRulesStatPrefix = "",
  }: Pick<RbacFilter, "rules" | "shadowRules" | "shadowRulesStatPrefix">,
  access: Parameters<typeof enforce>[1],
): Judgement {
  const decisions: Decision[] = [];
  const notes: Record<string, string> = {};
  if (shadowRules !== undefined) {
    const { allowed, matched } = enforce(shadowRules, access);
    notes[`${shadowRulesStatPrefix}shadow_engine_result`] = allowed ? "allowed" : "denied";
    if (matched !== undefined) notes[`${shadowRulesStatPrefix}shadow_effective_policy_id`] = matched;
    if (!shadowRulesStatPrefix.startsWith(ASKS)) {
      const text = `on trial, without effect: ${allowed ? "allowed" : "denied"}${matched === undefined ? "" : ` by ${matched}`}`;
      decisions.push(decide(place, "authorization", text, ...policySubject(matched)));
    }
  }
  if (rules === undefined) return { allowed: true, reason: "", notes, decisions };
  const { allowed, matched } = enforce(rules, access);
  const action = rules.action === "DENY" ? "DENY" : "ALLOW";
  const none = action === "ALLOW" ? "no ALLOW policy matches" : "no DENY policy matches";
  const reason = matched === undefined ? none : `policy ${policyName(matched)}`;
  const subjects =
    matched === undefined
      ? [{ kind: "access-policies" as const, action: action as "ALLOW" | "DENY" }]
      : policySubject(matched);
  const words = rules.action === "LOG" ? "logged" : allowed ? "allowed" : "denied";
  return {
    allowed,
    reason,
    notes,
    decisions: [...decisions, decide(place, "authorization", `${words}: ${reason}`, ...subjects)],
  };
}

/** Filters that only find out whether a provider is to be asked. */
const ASKS = "istio_ext_authz_";

function policySubject(matched: string | undefined) {
  return matched === undefined ? [] : [{ kind: "access-policy" as const, name: matched }];
}

/** `default/callers, rule 0` of `ns[default]-policy[callers]-rule[0]`. */
function policyName(key: string): string {
  const [, namespace, name, rule] = /ns\[([^\]]*)\]-policy\[([^\]]*)\]-rule\[(\d+)\]/.exec(key) ?? [];
  return namespace === undefined ? key : `${namespace}/${name}, rule ${rule}`;
}

function applyExtAuthz(config: ExtAuthz, state: FilterState, { place }: FilterContext): readonly Branch<Filtered>[] {
  const { filterEnabledMetadata } = config;
  if (filterEnabledMetadata !== undefined && !matchesMetadata(filterEnabledMetadata, state.metadata))
    return only(state);
  const service = config.grpcService?.envoyGrpc?.clusterName ?? config.httpService?.serverUri?.cluster ?? "a provider";
  const text = `decided outside, by ${service}: taken to be allowed`;
  return only(state, decide(place, "authorization", text, { kind: "access-policies", action: "CUSTOM" }));
}
