import { compareSpecificity, hostCovers, isWildcard } from "../../../istio-api/values/hostname.ts";
import type { VirtualServiceRule } from "../../../mesh-model/push-snapshot.ts";

/** Rules with `tcp` or `tls` blocks, by the hosts they are for. */
export interface HostRules {
  /** Those that cover the host: the most specific host first, then the oldest rule. */
  of(hostname: string): readonly VirtualServiceRule[];
}

/** Rules for names are found by name; only rules for wildcards are tried one by one. */
export function createHostRules(rules: readonly VirtualServiceRule[]): HostRules {
  const exact = new Map<string, VirtualServiceRule[]>();
  const wildcards: { readonly host: string; readonly rule: VirtualServiceRule }[] = [];
  for (const rule of rules) {
    if (rule.spec.tcp.length + rule.spec.tls.length === 0) continue;
    for (const host of rule.hosts) {
      if (isWildcard(host)) wildcards.push({ host, rule });
      else exact.set(host, [...(exact.get(host) ?? []), rule]);
    }
  }
  // A stable sort: equally specific ones stay in the order of their age.
  wildcards.sort((a, b) => compareSpecificity(a.host, b.host));
  return {
    of(hostname) {
      const covering = wildcards.filter(({ host }) => hostCovers(host, hostname)).map(({ rule }) => rule);
      const named = exact.get(hostname) ?? [];
      return covering.length === 0 ? named : [...new Set([...named, ...covering])];
    },
  };
}
