import { pack } from "../../protobuf/envoy/index.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { TcpProxy } from "../../protobuf/gen/envoy/extensions/filters/network/tcp_proxy/v3.ts";

/** Sends the connection's bytes to a cluster, or to one of several by weight. */
export function tcpProxyFilter(
  target: Omit<TcpProxy, "accessLog" | "statPrefix"> & { readonly statPrefix: string },
  accessLog: readonly AccessLog[] = [],
): Filter {
  return {
    name: "envoy.filters.network.tcp_proxy",
    typedConfig: pack("envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", {
      ...target,
      ...(accessLog.length > 0 && { accessLog }),
    }),
  };
}

export function tcpProxyTo(cluster: string, accessLog: readonly AccessLog[] = [], idleTimeout = ""): Filter {
  return tcpProxyFilter({ statPrefix: cluster, cluster, ...(idleTimeout !== "" && { idleTimeout }) }, accessLog);
}
