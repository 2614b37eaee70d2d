import type { Route, VirtualHost } from "../../../protocol/gen/envoy/config/route/v3.ts";
import type { Service } from "../../model/service.ts";
import type { ScopeTraits, VirtualServiceRule } from "../../snapshot/push-snapshot.ts";
import { buildDefaultRoute } from "./default-route.ts";
import { hostDomains, serviceDomains, withPort } from "./domains.ts";
import { buildHttpRoutes } from "./http-routes.ts";
import { type RecordingLookup, recordLookups } from "./route-lookup.ts";
import { type HostPlace, remember } from "./virtual-host-cache.ts";

/** The virtual host of a service on one of its ports. The same value as before while service, rule and destinations are. */
export function serviceHost(service: Service, rule: VirtualServiceRule | undefined, place: HostPlace): VirtualHost {
  const domains = domainsOf(service, place);
  return remember({ owner: service, rule, domains }, place, () => {
    const lookup = recordLookups(place.scope);
    const ruled = rule === undefined ? [] : ruleRoutes(rule, place, lookup);
    // A rule that says nothing about this caller or port leaves the service as it is.
    const routes = ruled.length > 0 ? ruled : [buildDefaultRoute(service, place.port, lookup)];
    return { host: buildHost(service.hostname, place.port, domains, routes), consulted: lookup.consulted() };
  });
}

/** The virtual host of a name that only rules know; undefined when its rule says nothing about this caller or port. */
export function ruleHost(host: string, rule: VirtualServiceRule, place: HostPlace): VirtualHost | undefined {
  const domains = withPort(hostDomains(host, place.scope.traits.dnsDomain), place.port, place.form);
  const built = remember({ owner: rule, rule, domains }, place, () => {
    const lookup = recordLookups(place.scope);
    const routes = ruleRoutes(rule, place, lookup);
    return { host: buildHost(host, place.port, domains, routes), consulted: lookup.consulted() };
  });
  return built.routes?.length === 0 ? undefined : built;
}

function domainsOf(service: Service, { scope, port, form, address }: HostPlace): readonly string[] {
  const domains = serviceDomains(service, scope.traits);
  return withPort(address === undefined || domains.includes(address) ? domains : [...domains, address], port, form);
}

function ruleRoutes(
  { spec }: VirtualServiceRule,
  { scope, port }: HostPlace,
  lookup: RecordingLookup,
): readonly Route[] {
  return buildHttpRoutes(spec.http, { port, lookup, caller: scope.traits, isProxyless: isProxyless(scope.traits) });
}

export function isProxyless({ generator }: ScopeTraits): boolean {
  return generator === "grpc";
}

function buildHost(host: string, port: number, domains: readonly string[], routes: readonly Route[]): VirtualHost {
  return { name: `${host}:${port}`, domains, includeRequestAttemptCount: true, routes };
}
