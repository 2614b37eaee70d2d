import type { ScopeTraits } from "../../mesh-model/push-snapshot.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { Cluster } from "../../protobuf/gen/envoy/config/cluster/v3.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { DnsCacheConfig } from "../../protobuf/gen/envoy/extensions/common/dynamic_forward_proxy/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";

type Families = Pick<ScopeTraits, "ipv4">;

/** A cluster that calls the name that a filter in front of it has looked up. */
export function dynamicClusterType(
  families: Families,
  allowInsecureClusterOptions: boolean,
): Pick<Cluster, "clusterType"> {
  const config = {
    dnsCacheConfig: dnsCache(families),
    ...(allowInsecureClusterOptions && { allowInsecureClusterOptions }),
  };
  const typedConfig = pack("envoy.extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig", config);
  return { clusterType: { name: "envoy.clusters.dynamic_forward_proxy", typedConfig } };
}

/** Looks up the host of each request that goes to such a cluster; others pass. */
export function hostLookupFilter(families: Families): HttpFilter {
  return {
    name: "envoy.filters.http.dynamic_forward_proxy",
    typedConfig: pack("envoy.extensions.filters.http.dynamic_forward_proxy.v3.FilterConfig", {
      dnsCacheConfig: dnsCache(families),
    }),
  };
}

/** Looks up the server name that a TLS client asks for. */
export function serverNameLookupFilter(families: Families, portValue: number): Filter {
  return {
    name: "envoy.extensions.filters.network.sni_dynamic_forward_proxy",
    typedConfig: pack("envoy.extensions.filters.network.sni_dynamic_forward_proxy.v3.FilterConfig", {
      dnsCacheConfig: dnsCache(families),
      portValue,
    }),
  };
}

/** One for all: a filter knows only one cache, and services of several wildcards may share its port. */
function dnsCache({ ipv4 }: Families): DnsCacheConfig {
  return { name: "dynamic_dns", dnsLookupFamily: ipv4 ? "V4_ONLY" : "V6_ONLY" };
}
