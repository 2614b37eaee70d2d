import type { MeshResource } from "./mesh-control-plane.ts";

const TLS = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3";
const HCM = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";

const sds = (name: string) => ({
  name,
  sds_config: {
    api_config_source: {
      api_type: "GRPC",
      transport_api_version: "V3",
      grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
      set_node_on_first_message_only: true,
    },
    resource_api_version: "V3",
    initial_fetch_timeout: "0s",
  },
});

/** The workload's own certificate and the mesh's roots, both from the agent. */
const meshTls = {
  tls_certificate_sds_secret_configs: [sds("default")],
  combined_validation_context: { default_validation_context: {}, validation_context_sds_secret_config: sds("ROOTCA") },
};

const address = (port: number) => ({ socket_address: { address: "127.0.0.1", port_value: port } });

interface HttpListener {
  readonly name: string;
  readonly port: number;
  /** Requires a client certificate of the mesh. */
  readonly mutualTls?: boolean;
  readonly answer?: string;
  readonly cluster?: string;
  readonly inbound?: boolean;
}

export function httpListener({ name, port, mutualTls, answer, cluster, inbound }: HttpListener): MeshResource {
  const route =
    cluster === undefined
      ? { match: { prefix: "/" }, direct_response: { status: 200, body: { inline_string: answer ?? "" } } }
      : { match: { prefix: "/" }, route: { cluster } };
  const manager = {
    "@type": HCM,
    stat_prefix: name,
    route_config: { name, virtual_hosts: [{ name, domains: ["*"], routes: [route] }] },
    http_filters: [{ name: "envoy.filters.http.router", typed_config: { "@type": ROUTER } }],
  };
  const chain = {
    filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }],
    ...(mutualTls && {
      transport_socket: {
        name: "envoy.transport_sockets.tls",
        typed_config: {
          "@type": `${TLS}.DownstreamTlsContext`,
          require_client_certificate: true,
          common_tls_context: meshTls,
        },
      },
    }),
  };
  const direction = inbound ? { traffic_direction: "INBOUND" } : {};
  return {
    name,
    type: "envoy.config.listener.v3.Listener",
    body: { name, address: address(port), filter_chains: [chain], ...direction },
  };
}

export function staticCluster(name: string, port: number, mutualTls: boolean): MeshResource {
  return {
    name,
    type: "envoy.config.cluster.v3.Cluster",
    body: {
      name,
      type: "STATIC",
      connect_timeout: "20s",
      load_assignment: {
        cluster_name: name,
        endpoints: [{ lb_endpoints: [{ endpoint: { address: address(port) } }] }],
      },
      ...(mutualTls && {
        transport_socket: {
          name: "envoy.transport_sockets.tls",
          typed_config: { "@type": `${TLS}.UpstreamTlsContext`, common_tls_context: meshTls },
        },
      }),
    },
  };
}

/** A whole bootstrap with one static listener, for nodes that ask the control plane for theirs. */
export function bootstrapResource(parts: {
  readonly adminPort: number;
  readonly listener: MeshResource;
}): MeshResource {
  return {
    name: "bootstrap",
    type: "envoy.config.bootstrap.v3.Bootstrap",
    body: {
      node: { id: "given", cluster: "given" },
      admin: { address: address(parts.adminPort) },
      static_resources: { listeners: [parts.listener.body] },
    },
  };
}

const SECRET = "envoy.extensions.transport_sockets.tls.v3.Secret";

/** A certificate with its key under the name Envoy asks for (`default`). */
export function certificateSecret(
  name: string,
  { cert, key }: { readonly cert: string; readonly key: string },
): MeshResource {
  const tls_certificate = { certificate_chain: { inline_string: cert }, private_key: { inline_string: key } };
  return { name, type: SECRET, body: { name, tls_certificate } };
}

/** A trust anchor under the name Envoy asks for (`ROOTCA`). */
export function trustSecret(name: string, rootPem: string): MeshResource {
  return { name, type: SECRET, body: { name, validation_context: { trusted_ca: { inline_string: rootPem } } } };
}
