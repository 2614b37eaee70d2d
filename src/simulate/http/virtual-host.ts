import type { RouteConfiguration, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";

/** The virtual host of a request: the whole name, then the longest `*.name`, then the longest `name.*`, then `*`. */
export function chooseVirtualHost(config: RouteConfiguration, authority: string): VirtualHost | undefined {
  const lower = authority.toLowerCase();
  const host = config.ignorePortInHostMatching === true ? lower.replace(/:\d+$/, "") : lower;
  let best: { readonly host: VirtualHost; readonly rank: number } | undefined;
  for (const virtualHost of config.virtualHosts ?? []) {
    for (const domain of virtualHost.domains ?? []) {
      const rank = rankOf(domain.toLowerCase(), host);
      if (rank > (best?.rank ?? -1)) best = { host: virtualHost, rank };
    }
  }
  return best?.host;
}

const EXACT = 3_000_000;
const SUFFIX = 2_000_000;
const PREFIX = 1_000_000;

/** Higher is more specific; -1 for a domain that the host is not in. */
function rankOf(domain: string, host: string): number {
  if (domain === host) return EXACT;
  if (domain === "*") return 0;
  if (domain.startsWith("*"))
    return isLonger(host, domain) && host.endsWith(domain.slice(1)) ? SUFFIX + domain.length : -1;
  if (domain.endsWith("*"))
    return isLonger(host, domain) && host.startsWith(domain.slice(0, -1)) ? PREFIX + domain.length : -1;
  return -1;
}

/** A star stands for at least one character. */
function isLonger(host: string, domain: string): boolean {
  return host.length >= domain.length;
}
