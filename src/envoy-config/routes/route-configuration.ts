import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { RouteConfiguration, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";

/** What a requested route configuration is for. */
type RouteName =
  /** A listener of one port, for all services that may get HTTP there. */
  | { readonly kind: "port"; readonly port: number }
  /** A sniffed port of one service with an address of its own. */
  | { readonly kind: "service"; readonly host: string; readonly port: number }
  /** The listener for applications that use the sidecar as their HTTP proxy. */
  | { readonly kind: "http-proxy" }
  /** A Sidecar's egress listener on a unix socket. */
  | { readonly kind: "socket"; readonly bind: string };

export const HTTP_PROXY_ROUTE = "http_proxy";

/** Undefined for names that no listener of a sidecar uses. */
export function parseRouteName(name: string): RouteName | undefined {
  if (name === HTTP_PROXY_ROUTE) return { kind: "http-proxy" };
  if (name.startsWith("unix://")) return { kind: "socket", bind: name };
  const [, host, digits = ""] = NAME.exec(name) ?? [];
  const port = Number(digits);
  if (port < 1 || port > 65535) return undefined;
  return host === undefined ? { kind: "port", port } : { kind: "service", host, port };
}

const NAME = /^(?:([^\s:]+):)?([1-9]\d{0,4})$/;

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

/** Headers that the proxy adds to requests. */
interface RouteHeaders {
  /** How often a request was tried. */
  readonly attemptCount: boolean;
  /** The host that was asked for, where it is rewritten. */
  readonly forwardedHost: boolean;
}

export function routeHeaders({ traits, mesh }: OutboundScope): RouteHeaders {
  const { attemptCount, xForwardedHost } = traits.listening.headers ?? mesh.proxyHeaders;
  return { attemptCount: attemptCount?.disabled !== true, forwardedHost: xForwardedHost?.enabled === true };
}

/** What routes need to know about their destinations. */
export type RouteLookup = Pick<OutboundScope, "service" | "destinationRule">;
