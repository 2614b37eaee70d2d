import { compareText } from "../config-object.ts";

export function isWildcard(host: string): boolean {
  return host.startsWith("*");
}

/** Some name is covered by both: equal names, a wildcard and a name under it, or two wildcards of which one holds the other. */
export function hostsOverlap(a: string, b: string): boolean {
  return hostCovers(a, b) || hostCovers(b, a);
}

/** Every name that `inner` stands for is one that `outer` stands for: `*.a.b` covers `x.a.b` and `*.x.a.b`, but not `a.b`. */
export function hostCovers(outer: string, inner: string): boolean {
  if (!isWildcard(outer)) return outer === inner;
  if (!isWildcard(inner)) return inner.endsWith(outer.slice(1));
  return inner.length >= outer.length && inner.slice(1).endsWith(outer.slice(1));
}

/** Most specific first: names before wildcards, longer before shorter, then by the alphabet. */
export function compareSpecificity(a: string, b: string): number {
  return Number(isWildcard(a)) - Number(isWildcard(b)) || b.length - a.length || compareText(a, b);
}

/** The most specific of the candidates that covers the host. */
export function mostSpecificHost(host: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  for (const candidate of candidates) {
    if (hostCovers(candidate, host) && (best === undefined || compareSpecificity(candidate, best) < 0))
      best = candidate;
  }
  return best;
}

/** A short host in a rule means the service of that name beside the rule; names with dots and wildcards mean themselves. */
export function resolveShortHost(host: string, namespace: string, domain: string): string {
  if (host === "" || host.includes(".") || isWildcard(host)) return host;
  return `${host}.${namespace}.svc.${domain}`;
}
