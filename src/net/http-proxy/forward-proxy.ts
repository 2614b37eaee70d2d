import { parseTarget } from "../../grpc/index.ts";
import { bypassesProxy } from "./bypasses-proxy.ts";
import { type ProxyAddress, parseProxy } from "./parse-proxy.ts";

export interface ForwardEnvironment {
  /** HTTP_PROXY: a URL, its scheme optional; "" for none. */
  readonly httpProxy: string;
  readonly noProxy: string;
}

/** The proxy that plain http requests to `address` (host:port) are sent to, whole; undefined when they go there directly. */
export function forwardProxy(address: string, { httpProxy, noProxy }: ForwardEnvironment): ProxyAddress | undefined {
  if (httpProxy === "") return undefined;
  const target = parseTarget(address);
  if (target.kind !== "tcp" || bypassesProxy(target, noProxy)) return undefined;
  return parseProxy(httpProxy, "HTTP_PROXY");
}
