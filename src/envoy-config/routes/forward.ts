import type { HttpRetries, HttpRoute, HttpRouteDestination } from "../../istio-api/specs.ts";
import type { Route, RouteAction, WeightedCluster_ClusterWeight } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { type ResolvedDestination, resolveDestination } from "./destination.ts";
import { isHeaderSafe, isRegex } from "./envoy-values.ts";
import { authorityOf, buildHeaderChanges, joinHeaderChanges } from "./headers.ts";
import { buildMirrors } from "./mirrors.ts";
import { buildRetryPolicy } from "./retries.ts";
import type { RouteLookup } from "./route-configuration.ts";

export interface ForwardContext {
  /** Of the listener the request came to. */
  readonly port: number;
  readonly lookup: RouteLookup;
  /** gRPC's own xDS reads the time limit elsewhere. */
  readonly isProxyless: boolean;
  /** X-Forwarded-Host carries the requested host where it is rewritten. */
  readonly forwardedHost: boolean;
  /** Of the mesh, for routes that say nothing about retries. */
  readonly defaultRetries: HttpRetries | undefined;
}

/** The members of a route that sends requests on; undefined when no traffic could go anywhere. */
export function buildForward(http: HttpRoute, context: ForwardContext): Route | undefined {
  const targets = resolveTargets(http.route, context);
  const total = targets.reduce((sum, { weight }) => sum + weight, 0);
  const [only] = targets;
  if (only === undefined || total === 0 || total > MAX_WEIGHT || !isAcceptable(http)) return undefined;
  const isSingle = http.route.length === 1;
  const own = isSingle ? only.destination.headers : undefined;
  const literal = http.rewrite?.authority || (authorityOf(http.headers) ?? authorityOf(own));
  const mirrors = buildMirrors(http, context.port, context.lookup);
  const hashPolicy = targets.flatMap(({ resolved }) => resolved.hashPolicy ?? []);
  const retryPolicy = buildRetryPolicy(http.retries ?? context.defaultRetries, isSingle && hashPolicy.length > 0);
  const action: RouteAction = {
    ...(isSingle ? { cluster: only.resolved.cluster } : { weightedClusters: { clusters: targets.map(buildWeight) } }),
    ...buildTimeout(http.timeout ?? "0s", context.isProxyless),
    ...buildPathRewrite(http.rewrite),
    ...(literal !== undefined && { hostRewriteLiteral: literal }),
    ...(http.rewrite !== undefined && context.forwardedHost && { appendXForwardedHost: true }),
    ...(retryPolicy && { retryPolicy }),
    ...(mirrors.length > 0 && { requestMirrorPolicies: mirrors }),
    ...(hashPolicy.length > 0 && { hashPolicy }),
  };
  return { route: action, ...joinHeaderChanges(buildHeaderChanges(http.headers), buildHeaderChanges(own)) };
}

/** Weights add up in 32 bits. */
const MAX_WEIGHT = 4294967295;

interface Target {
  readonly destination: HttpRouteDestination;
  readonly resolved: ResolvedDestination;
  readonly weight: number;
}

/** A single destination gets everything, regardless of its weight. */
function resolveTargets(routes: readonly HttpRouteDestination[], { port, lookup }: ForwardContext): readonly Target[] {
  return routes.flatMap((entry) => {
    const weight = routes.length === 1 ? 1 : entry.weight;
    if (entry.destination === undefined || weight <= 0) return [];
    return { destination: entry, resolved: resolveDestination(entry.destination, port, lookup), weight };
  });
}

function buildWeight({ destination, resolved, weight }: Target): WeightedCluster_ClusterWeight {
  const authority = authorityOf(destination.headers);
  return {
    name: resolved.cluster,
    weight,
    ...buildHeaderChanges(destination.headers),
    ...(authority !== undefined && { hostRewriteLiteral: authority }),
  };
}

/** Clients that send a gRPC deadline are held to the same limit; none (0) means theirs counts. */
function buildTimeout(timeout: string, isProxyless: boolean): RouteAction {
  return isProxyless
    ? { timeout, maxStreamDuration: { maxStreamDuration: timeout } }
    : { timeout, maxGrpcTimeout: timeout };
}

function buildPathRewrite(rewrite: HttpRoute["rewrite"]): RouteAction {
  if (rewrite?.uriRegexRewrite !== undefined) {
    const { match, rewrite: substitution } = rewrite.uriRegexRewrite;
    return { regexRewrite: { pattern: { regex: match }, substitution } };
  }
  return rewrite?.uri ? { prefixRewrite: rewrite.uri } : {};
}

function isAcceptable({ rewrite }: HttpRoute): boolean {
  const regex = rewrite?.uriRegexRewrite;
  return (
    isHeaderSafe(rewrite?.uri, rewrite?.authority, regex?.rewrite) &&
    (regex === undefined || (regex.match !== "" && regex.match !== "*" && isRegex(regex.match)))
  );
}
