import { type RunningEnvoy, runEnvoy } from "./run-envoy.ts";

const TYPE = "type.googleapis.com/envoy.extensions";

/** An Envoy that takes plain HTTP on a loopback port and passes it on over HTTP/3 alone, to a loopback port. */
export function runHttp3Client(options: {
  readonly port: number;
  readonly to: number;
  readonly serverName: string;
  readonly rootPem: string;
}): Promise<RunningEnvoy> {
  const { port, to, serverName, rootPem } = options;
  const local = (portValue: number, more: object = {}) => ({
    socket_address: { address: "127.0.0.1", port_value: portValue, ...more },
  });
  const manager = {
    "@type": `${TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: "client",
    route_config: {
      virtual_hosts: [
        {
          name: "all",
          domains: ["*"],
          routes: [{ match: { prefix: "/" }, route: { cluster: "http3", timeout: "30s" } }],
        },
      ],
    },
    http_filters: [{ name: "router", typed_config: { "@type": `${TYPE}.filters.http.router.v3.Router` } }],
  };
  const endpoint = { endpoint: { address: local(to, { protocol: "UDP" }) } };
  return runEnvoy({
    node: { id: "http3-client", cluster: "test" },
    static_resources: {
      listeners: [
        {
          name: "in",
          address: local(port),
          filter_chains: [{ filters: [{ name: "http", typed_config: manager }] }],
        },
      ],
      clusters: [
        {
          name: "http3",
          type: "STATIC",
          connect_timeout: "30s",
          load_assignment: { cluster_name: "http3", endpoints: [{ lb_endpoints: [endpoint] }] },
          typed_extension_protocol_options: {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
              "@type": `${TYPE}.upstreams.http.v3.HttpProtocolOptions`,
              explicit_http_config: { http3_protocol_options: {} },
            },
          },
          transport_socket: {
            name: "envoy.transport_sockets.quic",
            typed_config: {
              "@type": `${TYPE}.transport_sockets.quic.v3.QuicUpstreamTransport`,
              upstream_tls_context: {
                sni: serverName,
                common_tls_context: { validation_context: { trusted_ca: { inline_string: rootPem } } },
              },
            },
          },
        },
      ],
    },
  });
}
