import type { DiscoveryServer } from "../discovery/server.ts";
import { http2Cluster } from "./http2-cluster.ts";
import { type RunningEnvoy, runEnvoy } from "./run-envoy.ts";

export interface GatewayEnvoyOptions {
  /** The TLS port of the control plane. */
  readonly xdsPort: number;
  readonly rootPem: string;
  /** Of the gateway's service account. */
  readonly token: string;
  readonly namespace: string;
  readonly account: string;
  readonly protocol: "sotw" | "delta";
  /** `istio: gateway` when absent. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Where it gets its certificate for the mesh. */
  readonly sdsPath: string;
}

/** The same of a control plane in this process, as its account `gateway`. */
export async function runGatewayOf(
  { ports, discovery }: Pick<DiscoveryServer, "ports" | "discovery">,
  options: Pick<GatewayEnvoyOptions, "namespace" | "protocol" | "labels" | "sdsPath">,
): Promise<RunningEnvoy> {
  const account = "gateway";
  const token = await discovery.issueToken({ namespace: options.namespace, name: account }, 60);
  return runGatewayEnvoy({ ...options, account, token, xdsPort: ports.secureGrpc, rootPem: discovery.rootPem });
}

/** A stock Envoy as a gateway that proves who it is to a control plane, and has its credentials from it, without an agent between them. */
export function runGatewayEnvoy(options: GatewayEnvoyOptions): Promise<RunningEnvoy> {
  const { xdsPort, rootPem, token, namespace, account, protocol, sdsPath, labels = { istio: "gateway" } } = options;
  const ads = { ads: {}, initial_fetch_timeout: "0s", resource_api_version: "V3" };
  const metadata = {
    NAMESPACE: namespace,
    SERVICE_ACCOUNT: account,
    INSTANCE_IPS: "10.10.9.1",
    CLUSTER_ID: "Kubernetes",
    LABELS: labels,
  };
  const address = { socket_address: { address: "127.0.0.1", port_value: xdsPort } };
  return runEnvoy({
    node: {
      id: `router~10.10.9.1~gateway-1.${namespace}~${namespace}.svc.cluster.local`,
      cluster: "gateway",
      metadata,
    },
    dynamic_resources: {
      ads_config: {
        api_type: protocol === "sotw" ? "GRPC" : "DELTA_GRPC",
        transport_api_version: "V3",
        set_node_on_first_message_only: true,
        grpc_services: [
          {
            envoy_grpc: { cluster_name: "xds-grpc" },
            initial_metadata: [{ key: "authorization", value: `Bearer ${token}` }],
          },
        ],
      },
      cds_config: ads,
      lds_config: ads,
    },
    static_resources: {
      clusters: [
        http2Cluster("sds-grpc", { pipe: { path: sdsPath } }),
        {
          ...http2Cluster("xds-grpc", address),
          transport_socket: {
            name: "envoy.transport_sockets.tls",
            typed_config: {
              "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
              sni: "localhost",
              common_tls_context: {
                alpn_protocols: ["h2"],
                validation_context: { trusted_ca: { inline_string: rootPem } },
              },
            },
          },
        },
      ],
    },
  });
}
