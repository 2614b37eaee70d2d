import { compareText } from "../../istio-api/config-object.ts";
import type { VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";

/** A virtual host that wants a place in a configuration; candidates come in the order in which they win. */
export interface Candidate {
  readonly host: VirtualHost;
  /** Its real name, which no short form of another host may take. */
  readonly name: string;
}

/**
 * Gives each domain to one virtual host: Envoy refuses a configuration in which one stands twice. Hosts that are left without domains
 * go. Hosts that keep all of theirs are passed on as the same values, so that what was encoded for them can be used again.
 */
export function assembleHosts(candidates: readonly Candidate[]): VirtualHost[] {
  const realNames = new Set(candidates.map(({ name }) => name.toLowerCase()));
  const taken = new Set<string>();
  const names = new Set<string>();
  const hosts: VirtualHost[] = [];
  for (const { host, name } of candidates) {
    if (host.name === undefined || names.has(host.name)) continue;
    const own = name.toLowerCase();
    const wanted = host.domains ?? [];
    const domains = wanted.filter((domain) => {
      if (taken.has(domain) || (domain !== own && realNames.has(domain))) return false;
      taken.add(domain);
      return true;
    });
    if (domains.length === 0) continue;
    names.add(host.name);
    hosts.push(domains.length === wanted.length ? host : { ...host, domains });
  }
  return hosts.sort((a, b) => compareText(a.name ?? "", b.name ?? ""));
}
