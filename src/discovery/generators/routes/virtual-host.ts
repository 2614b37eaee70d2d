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
  return remember({ owner: service, name: "", rule }, place, () => {
    const lookup = recordLookups(place.scope);
    const host = buildHost(service.hostname, domainsOf(service, place), place.port, () => {
      const ruled = rule === undefined ? [] : ruleRoutes(rule, place, lookup);
      // A rule that says nothing about this caller or port leaves the service as it is.
      return ruled.length > 0 ? ruled : [buildDefaultRoute(service, place.port, lookup)];
    });
    return { host, consulted: lookup.consulted() };
  });
}

/** The virtual host of a name that only rules know; undefined when its rule says nothing about this caller or port. */
export function ruleHost(host: string, rule: VirtualServiceRule, place: HostPlace): VirtualHost | undefined {
  const built = remember({ owner: rule, name: host, rule }, place, () => {
    const lookup = recordLookups(place.scope);
    const domains = withPort(hostDomains(host, place.scope.traits.dnsDomain), place.port, place.form);
    return {
      host: buildHost(host, domains, place.port, () => ruleRoutes(rule, place, lookup)),
      consulted: lookup.consulted(),
    };
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

function buildHost(
  host: string,
  domains: readonly string[],
  port: number,
  routes: () => readonly Route[],
): VirtualHost {
  return { name: `${host}:${port}`, domains, includeRequestAttemptCount: true, routes: routes() };
}
