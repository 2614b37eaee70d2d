import { http2Cluster } from "./http2-cluster.ts";

/** Where Envoy uses its certificate: on its own listener, or towards another Envoy with this identity. */
export type SdsEnvoyRole =
  | { readonly side: "server" }
  | { readonly side: "client"; readonly upstreamPort: number; readonly upstreamIdentity: string };

const TYPES = "type.googleapis.com/envoy.extensions";

const socketAddress = (port: number) => ({ socket_address: { address: "127.0.0.1", port_value: port } });

/** One listener on `port` with mutual TLS, or to a cluster with it, whose certificate and roots come from the SDS server on this socket. */
export function sdsBootstrap(sdsPath: string, port: number, role: SdsEnvoyRole = { side: "server" }): object {
  const isServer = role.side === "server";
  const listener = {
    name: "in",
    address: socketAddress(port),
    filter_chains: [
      {
        ...(isServer
          ? { transport_socket: tlsSocket("DownstreamTlsContext", { require_client_certificate: true }) }
          : {}),
        filters: [httpFilter(isServer ? { direct_response: { status: 200 } } : { route: { cluster: "upstream" } })],
      },
    ],
  };
  return {
    node: { id: "sidecar~127.0.0.1~test.default~default.svc.cluster.local", cluster: "test" },
    static_resources: {
      listeners: [listener],
      clusters: [
        http2Cluster("sds-grpc", { pipe: { path: sdsPath } }),
        ...(role.side === "client" ? [upstreamCluster(role)] : []),
      ],
    },
  };
}

function upstreamCluster(role: Extract<SdsEnvoyRole, { side: "client" }>): object {
  const matcher = { san_type: "URI", matcher: { exact: role.upstreamIdentity } };
  return {
    name: "upstream",
    type: "STATIC",
    connect_timeout: "20s",
    // A connection for each request, so that every request is a handshake with the certificates of its moment.
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": `${TYPES}.upstreams.http.v3.HttpProtocolOptions`,
        explicit_http_config: { http_protocol_options: {} },
        common_http_protocol_options: { max_requests_per_connection: 1 },
      },
    },
    transport_socket: tlsSocket("UpstreamTlsContext", {}, { match_typed_subject_alt_names: [matcher] }),
    load_assignment: endpoint("upstream", socketAddress(role.upstreamPort)),
  };
}

function endpoint(cluster: string, address: object): object {
  return { cluster_name: cluster, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] };
}

function tlsSocket(context: string, fields: object, validation: object = {}): object {
  return {
    name: "tls",
    typed_config: {
      "@type": `${TYPES}.transport_sockets.tls.v3.${context}`,
      ...fields,
      common_tls_context: {
        tls_certificate_sds_secret_configs: [sdsSecret("default")],
        combined_validation_context: {
          default_validation_context: validation,
          validation_context_sds_secret_config: sdsSecret("ROOTCA"),
        },
      },
    },
  };
}

function sdsSecret(name: string): object {
  return {
    name,
    sds_config: {
      resource_api_version: "V3",
      initial_fetch_timeout: "0s",
      api_config_source: {
        api_type: "GRPC",
        transport_api_version: "V3",
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
      },
    },
  };
}

function httpFilter(action: object): object {
  return {
    name: "http",
    typed_config: {
      "@type": `${TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: "test",
      http_filters: [{ name: "router", typed_config: { "@type": `${TYPES}.filters.http.router.v3.Router` } }],
      route_config: {
        virtual_hosts: [{ name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, ...action }] }],
      },
    },
  };
}
