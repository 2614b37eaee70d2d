import type { HttpMatch, HttpRoute } from "../../istio-api/specs.ts";
import { behindAliases } from "../../mesh-model/service.ts";
import type { AnyMessage } from "../../protobuf/envoy/index.ts";
import type { Route } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { originMetadata } from "../shared/origin-metadata.ts";
import { buildCors, CORS_FILTER } from "./cors.ts";
import { buildFault, FAULT_FILTER } from "./fault.ts";
import { buildForward, type ForwardContext } from "./forward.ts";
import { buildHeaderChanges } from "./headers.ts";
import { buildRouteMatch, isCatchAll } from "./match.ts";
import { buildDirectResponse, buildRedirect, type RequestPort } from "./redirect.ts";
import { SESSION_FILTER, sessionOverride } from "./sessions.ts";

interface RouteContext extends ForwardContext, RequestPort {
  readonly caller: Caller;
  /** Clients of services with sessions are held at one endpoint. */
  readonly sessions: boolean;
  /** The rule that the routes are those of. */
  readonly origin?: { readonly namespace: string; readonly name: string };
}

/** The routes of one rule for one kind of caller, in the rule's order; nothing follows a route that takes every request. */
export function buildHttpRoutes(http: readonly HttpRoute[], context: RouteContext): readonly Route[] {
  const routes: Route[] = [];
  for (const entry of http) {
    for (const match of entry.match.length === 0 ? [undefined] : entry.match) {
      const route = buildRoute(entry, match, context);
      if (route === undefined) continue;
      routes.push(route);
      if (isCatchAll(route.match ?? {})) return routes;
    }
  }
  return routes;
}

function buildRoute(http: HttpRoute, match: HttpMatch | undefined, context: RouteContext): Route | undefined {
  if (!appliesToCaller(match, context.caller, context.port)) return undefined;
  const routeMatch = buildRouteMatch(match, context.caller.gateway !== undefined);
  const action = buildAction(http, context);
  if (routeMatch === undefined || action === undefined) return undefined;
  const name = match?.name ? `${http.name}.${match.name}` : http.name;
  return {
    ...(name !== "" && { name }),
    match: routeMatch,
    ...action,
    ...buildFilters(http, context),
    ...(match?.statPrefix && { statPrefix: match.statPrefix }),
    ...(context.origin && { metadata: { filterMetadata: originMetadata("virtual-service", context.origin) } }),
  };
}

function buildAction(http: HttpRoute, context: RouteContext): Route | undefined {
  if (http.redirect !== undefined) {
    const redirect = buildRedirect(http.redirect, context);
    return redirect && { redirect, ...buildHeaderChanges(http.headers) };
  }
  if (http.directResponse !== undefined) {
    return { directResponse: buildDirectResponse(http.directResponse), ...buildHeaderChanges(http.headers) };
  }
  return buildForward(http, context);
}

/** What filters do differently for this route. gRPC refuses settings of filters that it does not have, as it does not have CORS. */
function buildFilters(http: HttpRoute, context: RouteContext): Route {
  const { fault, corsPolicy } = http;
  const configs = {
    [FAULT_FILTER]: fault && buildFault(fault),
    [CORS_FILTER]: context.isProxyless ? undefined : corsPolicy && buildCors(corsPolicy),
    [SESSION_FILTER]: context.sessions && !context.isProxyless ? sessionsOfRoute(http, context) : undefined,
  };
  const given = Object.entries(configs).flatMap(([name, config]) =>
    config === undefined ? [] : [[name, config] as const],
  );
  return given.length === 0 ? {} : { typedPerFilterConfig: Object.fromEntries(given) };
}

/** Of the first destination that has some: one client has one session. */
function sessionsOfRoute({ route }: HttpRoute, { lookup }: RouteContext): AnyMessage | undefined {
  for (const { destination } of route) {
    const { service } = behindAliases(destination?.host ?? "", lookup.service);
    const session = sessionOverride(service);
    if (session !== undefined) return session;
  }
  return undefined;
}

/** Who sends the requests: a match may ask for some callers only. */
interface Caller {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The gateway that the requests come to, as `namespace/name`; sidecars have none. */
  readonly gateway?: string;
}

/** The gateway name that stands for every sidecar. */
const MESH_GATEWAY = "mesh";

/** Conditions that are known before any request comes. Gateways given, source labels and namespace count for nothing. */
function appliesToCaller(match: HttpMatch | undefined, caller: Caller, port: number): boolean {
  if (match === undefined) return true;
  if (match.port !== 0 && match.port !== port) return false;
  if (match.gateways.length > 0) return match.gateways.includes(caller.gateway ?? MESH_GATEWAY);
  const hasLabels = Object.entries(match.sourceLabels).every(([name, value]) => caller.labels[name] === value);
  return hasLabels && (match.sourceNamespace === "" || match.sourceNamespace === caller.namespace);
}
