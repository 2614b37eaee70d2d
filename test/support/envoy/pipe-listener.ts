/** A listener on a unix socket that passes every request on to one cluster. */
export function pipeListener(path: string, cluster: string): object {
  const router = {
    name: "envoy.filters.http.router",
    typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
  };
  const manager = {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: "front",
    codec_type: "HTTP2",
    stream_idle_timeout: "0s",
    route_config: {
      virtual_hosts: [
        { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster, timeout: "0s" } }] },
      ],
    },
    http_filters: [router],
  };
  return {
    name: "front",
    address: { pipe: { path } },
    filter_chains: [{ filters: [{ name: "envoy.filters.network.http_connection_manager", typed_config: manager }] }],
  };
}
