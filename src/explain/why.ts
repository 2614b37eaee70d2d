import { parseClusterName } from "../envoy-config/index.ts";
import { joinHostPort } from "../net/host-port.ts";
import type { Cluster } from "../protobuf/gen/envoy/config/cluster/v3.ts";
import type { ClusterLoadAssignment } from "../protobuf/gen/envoy/config/endpoint/v3.ts";
import type { FilterChain, Listener } from "../protobuf/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../protobuf/gen/envoy/config/route/v3.ts";
import type { Origin, Subject } from "../simulate/index.ts";
import type { OriginsOf } from "./origins-of.ts";
import type { ExplainedResource } from "./resources-of.ts";

/** Why a resource is there and why it is as it is. */
export interface Explanation {
  readonly type: ExplainedResource["type"];
  readonly name: string;
  readonly origins: readonly Origin[];
  /** Parts that come from other objects than the whole. */
  readonly parts: readonly ExplainedPart[];
  /** Kinds of which not all objects were tried out: those are named that apply by their hosts and selectors. */
  readonly notTried?: readonly string[];
}

export interface ExplainedPart {
  /** `virtual host`, `route`, `filter chain`, `access policy`, `token rule`, `endpoint`. */
  readonly kind: string;
  readonly name: string;
  readonly origins: readonly Origin[];
}

/** The resources of this name, and the parts of others that have it: virtual hosts, names, filter chains. */
export function explainWhy(
  resources: readonly ExplainedResource[],
  wanted: string,
  originsOf: OriginsOf,
): readonly Explanation[] {
  const hasOwnEndpoints = endpointsInside(resources);
  return resources.flatMap((resource) => {
    const isWhole = resource.name === wanted && resource.type !== "nds";
    // Others have no parts that are asked for by name: a mesh has thousands of them.
    if (!isWhole && resource.type !== "rds" && resource.type !== "nds") return [];
    const { origins, parts } = explain(resource, { originsOf, hasOwnEndpoints, ...(!isWhole && { only: wanted }) });
    if (!isWhole && parts.length === 0) return [];
    return [{ type: resource.type, name: resource.name, origins, parts }];
  });
}

/** Everything that has an origin of its own: clusters, endpoints, listeners with their chains, routes by virtual host. */
export function explainAll(resources: readonly ExplainedResource[], originsOf: OriginsOf): readonly Explanation[] {
  const hasOwnEndpoints = endpointsInside(resources);
  return resources
    .filter(({ type }) => type !== "ecds" && type !== "nds")
    .map((resource) => {
      const { type, name } = resource;
      return { type, name, ...explain(resource, { originsOf, hasOwnEndpoints }) };
    });
}

/** Whether a cluster may have endpoints inside of it. Those of most are sent by themselves, and decoding thousands of clusters takes long. */
function endpointsInside(resources: readonly ExplainedResource[]): (cluster: string) => boolean {
  const assigned = new Set(resources.flatMap(({ type, name }) => (type === "eds" ? name : [])));
  return (cluster) => !assigned.has(cluster) && parseClusterName(cluster)?.direction === "outbound";
}

interface Explained {
  readonly origins: readonly Origin[];
  readonly parts: readonly ExplainedPart[];
}

interface ExplainOptions {
  readonly originsOf: OriginsOf;
  readonly hasOwnEndpoints: (cluster: string) => boolean;
  /** Parts of this name alone, where the resource has another. */
  readonly only?: string;
}

function explain(resource: ExplainedResource, { originsOf, hasOwnEndpoints, only }: ExplainOptions): Explained {
  const { type, name } = resource;
  switch (type) {
    case "cds": {
      const assignment = hasOwnEndpoints(name) ? (resource.value as Cluster).loadAssignment : undefined;
      return { origins: originsOf({ kind: "cluster", name }), parts: endpointParts(name, assignment, originsOf) };
    }
    case "eds": {
      const parts = endpointParts(name, resource.value as ClusterLoadAssignment, originsOf);
      return { origins: originsOf({ kind: "cluster", name }), parts };
    }
    case "lds":
      return {
        origins: originsOf({ kind: "listener", name }),
        parts: only === undefined ? listenerParts(resource.value as Listener, originsOf, name) : [],
      };
    case "rds":
      return { origins: [], parts: routeParts(name, resource.value as RouteConfiguration, originsOf, only) };
    case "nds": {
      const table = (resource.value as { readonly table: Readonly<Record<string, unknown>> }).table;
      if (only === undefined || !Object.hasOwn(table, only)) return NOTHING;
      return { origins: [], parts: [{ kind: "name", name: only, origins: originsOf({ kind: "name", host: only }) }] };
    }
    case "ecds":
      return NOTHING;
  }
}

const NOTHING: Explained = { origins: [], parts: [] };

function endpointParts(
  cluster: string,
  assignment: ClusterLoadAssignment | undefined,
  originsOf: OriginsOf,
): readonly ExplainedPart[] {
  const all = (assignment?.endpoints ?? []).flatMap(({ lbEndpoints = [] }) => lbEndpoints);
  return all.map(({ endpoint }) => {
    const { address = "", portValue = 0 } = endpoint?.address?.socketAddress ?? {};
    const path = endpoint?.address?.pipe?.path;
    const [place, port] = path === undefined ? [address, portValue] : [path, 0];
    const origins = originsOf({ kind: "endpoint", cluster, address: place, port });
    return { kind: "endpoint", name: formatPlace(place, port), origins };
  });
}

/** `10.0.0.2:8080`, `[fd00::2]:8080`, `/run/app.sock`. */
function formatPlace(address: string, port: number): string {
  return port === 0 ? address : joinHostPort(address, port);
}

function routeParts(
  routes: string,
  { virtualHosts = [] }: RouteConfiguration,
  originsOf: OriginsOf,
  only: string | undefined,
): readonly ExplainedPart[] {
  const wanted = virtualHosts.filter(
    ({ name, domains = [] }) => only === undefined || name === only || domains.includes(only),
  );
  return wanted.flatMap(({ name = "", routes: all = [] }) => [
    { kind: "virtual host", name, origins: originsOf({ kind: "virtual-host", routes, name }) },
    ...all.map((route, index) => ({
      kind: "route",
      name: `${name} ${index}${route.name ? ` (${route.name})` : ""}`,
      origins: originsOf({ kind: "route", routes, host: name, index }),
    })),
  ]);
}

function listenerParts(
  { filterChains = [], defaultFilterChain, trafficDirection }: Listener,
  originsOf: OriginsOf,
  listener: string,
): readonly ExplainedPart[] {
  const chains = [...filterChains, ...(defaultFilterChain === undefined ? [] : [defaultFilterChain])];
  const routes = [...new Set(chains.flatMap((chain) => namesOf(chain, "routeConfigName")))];
  // One list of routes has the origins of the listener. Several are those of servers of gateways.
  const routed = (routes.length > 1 ? routes : []).map((name) => ({
    kind: "filter chain",
    name: `to routes ${name}`,
    origins: originsOf({ kind: "listener", name: listener }),
  }));
  const parts = [...routed, ...chains.flatMap((chain) => chainParts(chain, trafficDirection === "INBOUND", originsOf))];
  // Chains of one port for TLS, for plaintext and for bytes have the same origin.
  const seen = new Map(parts.map((part) => [`${part.kind} ${part.name}`, part]));
  return [...seen.values()];
}

function chainParts(chain: FilterChain, isInbound: boolean, originsOf: OriginsOf): readonly ExplainedPart[] {
  const port = chain.filterChainMatch?.destinationPort ?? 0;
  const found: (readonly [kind: string, name: string, subject: Subject])[] = [];
  if (isInbound) {
    found.push(["filter chain", portTitle(chain), { kind: "inbound-port", port }]);
    found.push(["mutual TLS", portTitle(chain), { kind: "peer-authentication", port }]);
  }
  for (const cluster of namesOf(chain, "cluster")) {
    if (!isInbound) found.push(["filter chain", `to ${cluster}`, { kind: "cluster", name: cluster }]);
  }
  for (const name of keysOf(chain, "policies")) found.push(["access policy", name, { kind: "access-policy", name }]);
  for (const issuer of namesOf(chain, "issuer")) found.push(["token rule", issuer, { kind: "token-rule", issuer }]);
  return found.map(([kind, name, subject]) => ({ kind, name, origins: originsOf(subject) }));
}

/** Inbound chains are told apart by their port; those of none are for what no service has. */
export function portTitle({ filterChainMatch }: FilterChain): string {
  const port = filterChainMatch?.destinationPort;
  return port === undefined ? "other ports" : `port ${port}`;
}

/** Texts of members of this name, at any depth. */
function namesOf(value: unknown, member: string): readonly string[] {
  return [...new Set(membersOf(value, member).filter((found) => typeof found === "string"))];
}

function keysOf(value: unknown, member: string): readonly string[] {
  return [...new Set(membersOf(value, member).flatMap((found) => Object.keys(found as object)))];
}

function membersOf(value: unknown, member: string): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((element) => membersOf(element, member));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inside]) => (name === member ? [inside] : membersOf(inside, member)));
}
