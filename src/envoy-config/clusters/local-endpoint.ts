import { isUnixAddress } from "../../mesh-model/endpoint.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";

export interface LocalEndpoint {
  /** An address, or `unix://` and a path. */
  readonly address: string;
  readonly port: number;
  readonly isLoopback: boolean;
}

/**
 * Where a Sidecar's ingress listener leads: `127.0.0.1:80`, `[::1]:80`, `unix:///run/app.sock`, or the wildcard address, which means
 * the workload's own one. Undefined for anything else; validation has told the user.
 */
export function localEndpoint(
  text: string,
  node: Pick<ProxyNode, "addresses" | "ipv4" | "ipv6">,
): LocalEndpoint | undefined {
  if (isUnixAddress(text)) return { address: text, port: 0, isLoopback: false };
  const [, host = "", digits = ""] = /^(.+):(\d+)$/.exec(text) ?? [];
  const address = host.replace(/^\[(.*)\]$/, "$1");
  const port = Number(digits);
  if (port < 1 || port > 65535) return undefined;
  if (address === "127.0.0.1" || address === "::1") {
    // Of the other family, where the workload has but that one.
    const isIpv4 = node.ipv4 && (address === "127.0.0.1" || !node.ipv6);
    return { address: isIpv4 ? "127.0.0.1" : "::1", port, isLoopback: true };
  }
  if (address !== "0.0.0.0" && address !== "::") return undefined;
  const own = node.addresses.find((candidate) => candidate.includes(":") === (address === "::")) ?? node.addresses[0];
  return own === undefined ? undefined : { address: own, port, isLoopback: false };
}
