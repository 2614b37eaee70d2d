import type { Protocol } from "../../../istio-api/values/protocol.ts";
import type { RouteConfiguration } from "../../../protobuf/gen/envoy/config/route/v3.ts";

/** Everything goes to the one cluster. Time limits are the client's business. */
export function buildInboundRoute(cluster: string, servicePort: number, protocol: Protocol): RouteConfiguration {
  const isGrpc = protocol === "GRPC" || protocol === "GRPC-Web";
  return {
    name: cluster,
    validateClusters: false,
    virtualHosts: [
      {
        name: `inbound|http|${servicePort}`,
        domains: ["*"],
        routes: [
          {
            name: "default",
            match: { prefix: "/" },
            route: {
              cluster,
              timeout: "0s",
              maxStreamDuration: { maxStreamDuration: "0s", grpcTimeoutHeaderMax: "0s" },
              // The application has seen nothing of such a request: its connection was closed while idle.
              ...(!isGrpc && { retryPolicy: { retryOn: "reset-before-request", numRetries: 2 } }),
            },
          },
        ],
      },
    ],
  };
}
