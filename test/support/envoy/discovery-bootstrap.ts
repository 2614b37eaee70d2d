import { http2Cluster } from "./http2-cluster.ts";

export interface DiscoveryBootstrapOptions {
  readonly sdsPath: string;
  readonly xdsPort: number;
  readonly node: object;
  readonly protocol: "sotw" | "delta";
}

/** For a stock Envoy that asks a control plane for everything, without an agent between them. */
export function discoveryBootstrap({ node, sdsPath, xdsPort, protocol }: DiscoveryBootstrapOptions): object {
  return {
    node,
    dynamic_resources: {
      ads_config: {
        api_type: protocol === "sotw" ? "GRPC" : "DELTA_GRPC",
        transport_api_version: "V3",
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: "xds-grpc" } }],
      },
      cds_config: { ads: {}, initial_fetch_timeout: "0s", resource_api_version: "V3" },
      lds_config: { ads: {}, initial_fetch_timeout: "0s", resource_api_version: "V3" },
    },
    static_resources: {
      clusters: [
        http2Cluster("xds-grpc", { socket_address: { address: "127.0.0.1", port_value: xdsPort } }),
        http2Cluster("sds-grpc", { pipe: { path: sdsPath } }),
      ],
    },
  };
}
