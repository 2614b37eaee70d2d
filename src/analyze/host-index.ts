import { hostCovers } from "../istio-api/values/hostname.ts";
import type { Service } from "../mesh-model/service.ts";

/** Services by their hosts. */
export interface HostIndex {
  /** Of this host alone. */
  exact(host: string): readonly Service[];
  /** Whose host covers the name, or is covered by it; in the order of the services. */
  meeting(host: string): readonly Service[];
}

export function createHostIndex(services: readonly Service[]): HostIndex {
  const byHost = new Map<string, number[]>();
  /** Under every domain that a host is in. */
  const byDomain = new Map<string, number[]>();
  const add = (map: Map<string, number[]>, key: string, at: number) => {
    const known = map.get(key);
    if (known === undefined) map.set(key, [at]);
    else known.push(at);
  };
  for (const [at, { hostname }] of services.entries()) {
    add(byHost, hostname, at);
    for (const domain of domainsOf(hostname)) add(byDomain, domain, at);
  }
  const at = (positions: readonly number[]) => positions.flatMap((position) => services[position] ?? []);
  return {
    exact: (host) => at(byHost.get(host) ?? []),
    meeting: (host) => {
      const wildcards = ["*", ...domainsOf(host).map((domain) => `*.${domain}`)];
      const covering = [host, ...wildcards].flatMap((name) => byHost.get(name) ?? []);
      const covered = host === "*" ? services.keys() : host.startsWith("*.") ? (byDomain.get(host.slice(2)) ?? []) : [];
      const found = [...new Set([...covering, ...covered])].sort((a, b) => a - b);
      return at(found).filter(({ hostname }) => hostCovers(host, hostname) || hostCovers(hostname, host));
    },
  };
}

/** `b.c` and `c` of `a.b.c`. */
function domainsOf(host: string): readonly string[] {
  const labels = host.split(".");
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join("."));
}
