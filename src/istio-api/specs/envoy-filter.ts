import { type Infer, int32, json, list, map, message, oneOf, string, uint32 } from "../schema/schema.ts";
import { NETWORK_SELECTOR, TARGET_REF } from "./common.ts";

const LISTENER_MATCH = message("listener match", {
  portNumber: uint32,
  portName: string,
  filterChain: message("filter chain match", {
    name: string,
    sni: string,
    transportProtocol: string,
    applicationProtocols: string,
    filter: message("filter match", { name: string, subFilter: message("sub filter match", { name: string }) }),
    destinationPort: uint32,
  }),
  listenerFilter: string,
  name: string,
});

const ROUTE_MATCH = message("route configuration match", {
  portNumber: uint32,
  portName: string,
  gateway: string,
  vhost: message("virtual host match", {
    name: string,
    domainName: string,
    route: message("route match", { name: string, action: oneOf("ANY", "ROUTE", "REDIRECT", "DIRECT_RESPONSE") }),
  }),
  name: string,
});

const CLUSTER_MATCH = message("cluster match", { portNumber: uint32, service: string, subset: string, name: string });

const PATCH = message("config patch", {
  applyTo: oneOf(
    "INVALID",
    "LISTENER",
    "FILTER_CHAIN",
    "NETWORK_FILTER",
    "HTTP_FILTER",
    "ROUTE_CONFIGURATION",
    "VIRTUAL_HOST",
    "HTTP_ROUTE",
    "CLUSTER",
    "EXTENSION_CONFIG",
    "BOOTSTRAP",
    "LISTENER_FILTER",
  ),
  match: message(
    "patch match",
    {
      context: oneOf("ANY", "SIDECAR_INBOUND", "SIDECAR_OUTBOUND", "GATEWAY", "WAYPOINT"),
      proxy: message("proxy match", { proxyVersion: string, metadata: map(string) }),
      listener: LISTENER_MATCH,
      routeConfiguration: ROUTE_MATCH,
      cluster: CLUSTER_MATCH,
    },
    [["listener", "routeConfiguration", "cluster"]],
  ),
  patch: message("patch", {
    operation: oneOf(
      "INVALID",
      "MERGE",
      "ADD",
      "REMOVE",
      "INSERT_BEFORE",
      "INSERT_AFTER",
      "INSERT_FIRST",
      "REPLACE",
      "MERGE_AND_REPLACE_LIST",
    ),
    value: json,
    filterClass: oneOf("UNSPECIFIED", "AUTHN", "AUTHZ", "STATS"),
  }),
});
export interface EnvoyPatch extends Infer<typeof PATCH> {}

export const ENVOY_FILTER = message("envoy filter", {
  workloadSelector: NETWORK_SELECTOR,
  targetRefs: list(TARGET_REF),
  configPatches: list(PATCH),
  priority: int32,
});
export interface EnvoyFilterSpec extends Infer<typeof ENVOY_FILTER> {}
