/** What a requested route configuration is for. */
export type RouteName =
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
