import type { RouteConfiguration, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";

/** `ignoresPort`: whether the port in a request's host counts. It does where virtual hosts of several ports stand side by side. */
export function routeConfiguration(
  name: string,
  virtualHosts: readonly VirtualHost[],
  ignoresPort: boolean,
): RouteConfiguration {
  return {
    name,
    ...(virtualHosts.length > 0 && { virtualHosts }),
    // A rule may name a subset that does not exist (yet): its requests get 503, and all others must not suffer.
    validateClusters: false,
    maxDirectResponseBodySizeBytes: 1048576,
    ...(ignoresPort && { ignorePortInHostMatching: true }),
  };
}
