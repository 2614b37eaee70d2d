import type { Dial } from "../dial.ts";
import { splitHostPort } from "../host-port.ts";
import { bypassesProxy } from "./bypasses-proxy.ts";
import { type ProxyAddress, type ProxyRoots, parseProxy, proxyHeaders } from "./proxy-address.ts";

/** The environment's proxies: URLs whose scheme is optional; "" for none. */
export interface ProxySettings {
  /** HTTP_PROXY, for plain http. */
  readonly httpProxy: string;
  /** HTTPS_PROXY, for https and for other TLS connections. */
  readonly httpsProxy: string;
  /** ALL_PROXY, for URLs whose scheme has no proxy of its own. */
  readonly allProxy?: string;
  readonly noProxy: string;
}

/** How a request travels that does not go straight to its host. */
export type ProxyRoute =
  /** Through a proxy that passes bytes on; TLS of https then is with the host itself. */
  | { readonly kind: "tunnel"; readonly dial: Dial }
  /** To a proxy that makes the request itself; for plain http. `dial` opens the connection to the proxy. */
  | {
      readonly kind: "forward";
      readonly shown: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly dial: Dial;
    };

/**
 * HTTPS_PROXY tunnels https, HTTP_PROXY makes plain requests itself or, where it speaks SOCKS, tunnels them; ALL_PROXY stands in for either.
 * Undefined: directly.
 */
export function proxyRoute(url: URL, settings: ProxySettings, roots?: ProxyRoots): ProxyRoute | undefined {
  const isPlain = url.protocol === "http:";
  const [own, name] = isPlain ? [settings.httpProxy, "HTTP_PROXY"] : [settings.httpsProxy, "HTTPS_PROXY"];
  const [text, variable] = own === "" ? [settings.allProxy ?? "", "ALL_PROXY"] : [own, name];
  const port = url.port || (isPlain ? "80" : "443");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (text === "" || bypassesProxy({ host, port: Number(port) }, settings.noProxy)) return undefined;
  const proxy = parseProxy(text, variable);
  if (!isPlain || proxy.scheme === "socks5")
    return { kind: "tunnel", dial: tunnelDial(proxy, `${url.hostname}:${port}`, roots) };
  const dial: Dial = async (signal) => (await import("./connect-tunnel.ts")).connectProxy(proxy, signal, roots);
  return { kind: "forward", shown: proxy.shown, headers: proxyHeaders(proxy), dial };
}

/** The way to `address` (host:port) through the proxy of HTTPS_PROXY; undefined when it goes there directly. */
export function connectThroughProxy(
  address: string,
  { httpsProxy, noProxy }: Pick<ProxySettings, "httpsProxy" | "noProxy">,
  roots?: ProxyRoots,
): Dial | undefined {
  if (httpsProxy === "" || address.startsWith("unix:")) return undefined;
  const target = splitHostPort(address);
  if ("problem" in target || bypassesProxy({ host: target.host, port: Number(target.port) }, noProxy)) return undefined;
  return tunnelDial(parseProxy(httpsProxy, "HTTPS_PROXY"), address, roots);
}

/** Loads the tunnel with its first use: most agents have no proxy. */
function tunnelDial(proxy: ProxyAddress, target: string, roots: ProxyRoots | undefined): Dial {
  return async (signal) => (await import("./connect-tunnel.ts")).connectTunnel({ proxy, target, roots }, signal);
}
