/** A static cluster of Envoy's that speaks HTTP/2 to one address, as gRPC servers need it. */
export function http2Cluster(name: string, address: object): object {
  return {
    name,
    type: "STATIC",
    connect_timeout: "20s",
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  };
}
