export interface StaticBootstrapOptions {
  readonly adminPort: number;
  readonly port: number;
  readonly host?: string;
  readonly adminHost?: string;
  /** What every request is answered with. */
  readonly body?: string;
  /** A file access log, for example /dev/stdout. */
  readonly accessLog?: string;
}

/** One inbound HTTP listener that answers by itself: enough for the life of the process without a control plane. */
export function staticBootstrap(options: StaticBootstrapOptions): object {
  const { host = "127.0.0.1", adminHost = "127.0.0.1", body = "ok", accessLog } = options;
  return {
    node: { id: "test", cluster: "test" },
    admin: { address: { socket_address: { address: adminHost, port_value: options.adminPort } } },
    static_resources: {
      listeners: [
        {
          name: "inbound",
          traffic_direction: "INBOUND",
          address: { socket_address: { address: host, port_value: options.port } },
          filter_chains: [{ filters: [connectionManager(body, accessLog)] }],
        },
      ],
    },
  };
}

function connectionManager(body: string, accessLog: string | undefined): object {
  return {
    name: "envoy.filters.network.http_connection_manager",
    typed_config: {
      "@type": typeUrl("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
      stat_prefix: "inbound",
      access_log:
        accessLog === undefined
          ? []
          : [
              {
                name: "envoy.access_loggers.file",
                typed_config: { "@type": typeUrl("extensions.access_loggers.file.v3.FileAccessLog"), path: accessLog },
              },
            ],
      http_filters: [
        {
          name: "envoy.filters.http.router",
          typed_config: { "@type": typeUrl("extensions.filters.http.router.v3.Router") },
        },
      ],
      route_config: {
        virtual_hosts: [
          {
            name: "all",
            domains: ["*"],
            routes: [{ match: { prefix: "/" }, direct_response: { status: 200, body: { inline_string: body } } }],
          },
        ],
      },
    },
  };
}

function typeUrl(name: string): string {
  return `type.googleapis.com/envoy.${name}`;
}
