import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { ScopeTraits, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import type { Route, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { clusterName } from "../shared/cluster-name.ts";
import { buildHashPolicy } from "./destination.ts";
import { addressDomain, serviceDomains, withPort } from "./domains.ts";
import { buildHttpRoutes } from "./http-routes.ts";
import { buildRetryPolicy } from "./retries.ts";
import { routeHeaders } from "./route-configuration.ts";
import type { RuleHost } from "./rule-index.ts";
import {
  type HostContext,
  memoizeHost,
  type RecordingLookup,
  type RouteLookup,
  recordLookups,
} from "./virtual-host-cache.ts";

/** The virtual host of a service on one of its ports. The same value as before while service, rule and destinations are. */
export function serviceHost(service: Service, rules: readonly VirtualServiceRule[], context: HostContext): VirtualHost {
  const domains = domainsOf(service, context);
  return memoizeHost({ owner: service, rules, domains }, context, () => {
    const lookup = recordLookups(context.scope);
    const ruled = firstRoutes(rules, context, lookup);
    // Rules that say nothing about this caller or port leave the service as it is.
    const routes = ruled.length > 0 ? ruled : [buildDefaultRoute(service, context.port, lookup, context.scope.mesh)];
    return { host: buildHost(service.hostname, context, domains, routes), consulted: lookup.consulted() };
  });
}

/** The virtual host of a name that only rules know; undefined when they say nothing about this caller or port. */
export function ruleHost({ host, rules }: RuleHost, context: HostContext): VirtualHost | undefined {
  const [owner] = rules;
  if (owner === undefined) return undefined;
  const domains = withPort([addressDomain(host.toLowerCase())], context.port, context.form);
  const built = memoizeHost({ owner, rules, domains }, context, () => {
    const lookup = recordLookups(context.scope);
    const routes = firstRoutes(rules, context, lookup);
    return { host: buildHost(host, context, domains, routes), consulted: lookup.consulted() };
  });
  return built.routes?.length === 0 ? undefined : built;
}

function domainsOf(service: Service, { scope, port, form, address }: HostContext): readonly string[] {
  const domains = serviceDomains(service, scope.traits);
  return withPort(address === undefined || domains.includes(address) ? domains : [...domains, address], port, form);
}

/** Of the first rule that has some. */
function firstRoutes(
  rules: readonly VirtualServiceRule[],
  { scope, port }: HostContext,
  lookup: RecordingLookup,
): readonly Route[] {
  const { traits: caller, mesh } = scope;
  const { forwardedHost } = routeHeaders(scope);
  const { defaultRetries } = mesh;
  for (const { spec } of rules) {
    const context = { port, lookup, caller, isProxyless: isProxyless(caller), forwardedHost, defaultRetries };
    const routes = buildHttpRoutes(spec.http, context);
    if (routes.length > 0) return routes;
  }
  return [];
}

function isProxyless({ generator }: ScopeTraits): boolean {
  return generator === "grpc";
}

function buildHost(
  host: string,
  { scope, port }: HostContext,
  domains: readonly string[],
  routes: readonly Route[],
): VirtualHost {
  const { attemptCount } = routeHeaders(scope);
  return { name: `${host}:${port}`, domains, ...(attemptCount && { includeRequestAttemptCount: true }), routes };
}

/** Everything to the service, where no rule says otherwise. */
function buildDefaultRoute(
  service: Service,
  port: number,
  lookup: RouteLookup,
  { defaultRetries }: Pick<MeshSettings, "defaultRetries">,
): Route {
  const hashPolicy = buildHashPolicy(lookup.destinationRule(service), port, "");
  const retryPolicy = buildRetryPolicy(defaultRetries, false);
  return {
    name: "default",
    match: { prefix: "/" },
    route: {
      cluster: clusterName("outbound", port, "", service.hostname),
      timeout: "0s",
      maxGrpcTimeout: "0s",
      ...(retryPolicy && { retryPolicy }),
      ...(hashPolicy && { hashPolicy: [hashPolicy] }),
    },
  };
}
