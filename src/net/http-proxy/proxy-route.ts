import type { Dial } from "../dial.ts";
import { splitHostPort } from "../host-port.ts";
import { bypassesProxy } from "./bypasses-proxy.ts";
import { connectTunnel } from "./connect-tunnel.ts";
import { type ProxyAddress, parseProxy } from "./parse-proxy.ts";

/** The environment's proxies: URLs whose scheme is optional; "" for none. */
export interface ProxySettings {
  /** HTTP_PROXY, for plain http. */
  readonly httpProxy: string;
  /** HTTPS_PROXY, for https and for other TLS connections. */
  readonly httpsProxy: string;
  readonly noProxy: string;
}

/** How a request travels that does not go straight to its host. */
export type ProxyRoute =
  /** Through a proxy that passes bytes on; for https, whose TLS then is with the host itself. */
  | { readonly kind: "tunnel"; readonly dial: Dial }
  /** To a proxy that makes the request itself; for plain http. */
  | { readonly kind: "forward"; readonly proxy: ProxyAddress };

/** As Go programs choose: HTTPS_PROXY tunnels https, HTTP_PROXY makes plain requests itself. Undefined: directly. */
export function proxyRoute(url: URL, settings: ProxySettings): ProxyRoute | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.protocol === "http:") {
    if (settings.httpProxy === "" || bypassesProxy({ host, port: Number(url.port || 80) }, settings.noProxy))
      return undefined;
    return { kind: "forward", proxy: parseProxy(settings.httpProxy, "HTTP_PROXY") };
  }
  const dial = connectThroughProxy(`${url.hostname}:${url.port || "443"}`, settings);
  return dial && { kind: "tunnel", dial };
}

/** The way to `address` (host:port) through the proxy of HTTPS_PROXY; undefined when it goes there directly. */
export function connectThroughProxy(
  address: string,
  { httpsProxy, noProxy }: Pick<ProxySettings, "httpsProxy" | "noProxy">,
): Dial | undefined {
  if (httpsProxy === "" || address.startsWith("unix:")) return undefined;
  const target = splitHostPort(address);
  if ("problem" in target || bypassesProxy({ host: target.host, port: Number(target.port) }, noProxy)) return undefined;
  const proxy = parseProxy(httpsProxy, "HTTPS_PROXY");
  return (signal) => connectTunnel(proxy, address, signal);
}
