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

/** Whether some of the hosts covers a name or wildcard; a question takes no longer for more hosts. */
export function createHostCover(hosts: readonly string[]): (host: string) => boolean {
  const names = new Set(hosts);
  const endings = createEndings(hosts);
  return (host) => names.has(host) || endings.of(host).length > 0;
}

/** For each of the hosts the first one before it that overlaps with it. The time grows as the list does. */
export function earlierOverlaps(hosts: readonly string[]): readonly (string | undefined)[] {
  const endings = createEndings(hosts);
  const places = new Map<string, number>();
  /** By the ending of a wildcard: the first host that it covers. */
  const covered = new Map<string, number>();
  return hosts.map((host, index) => {
    const own = endings.of(host);
    const earlier = [
      places.get(host),
      ...own.map((ending) => places.get(`*${ending}`)),
      isWildcard(host) ? covered.get(host.slice(1)) : undefined,
    ].filter((place) => place !== undefined);
    if (!places.has(host)) places.set(host, index);
    for (const ending of own) if (!covered.has(ending)) covered.set(ending, index);
    return earlier.length === 0 ? undefined : hosts[Math.min(...earlier)];
  });
}

/** What the wildcards among the hosts have behind their star. */
function createEndings(hosts: readonly string[]): { of(host: string): readonly string[] } {
  const endings = new Set(hosts.filter(isWildcard).map((host) => host.slice(1)));
  // Names have at most 255 characters, and so there are no more lengths than that.
  const lengths = [...new Set([...endings].map(({ length }) => length))];
  return {
    of: (host) => {
      const whole = isWildcard(host) ? host.slice(1) : host;
      return lengths
        .filter((length) => length <= whole.length)
        .map((length) => whole.slice(whole.length - length))
        .filter((ending) => endings.has(ending));
    },
  };
}

/** Most specific first: names before wildcards, longer before shorter, then by the alphabet. */
export function compareSpecificity(a: string, b: string): number {
  return Number(isWildcard(a)) - Number(isWildcard(b)) || b.length - a.length || compareText(a, b);
}

/** A short host in a rule means the service of that name beside the rule; names with dots and wildcards mean themselves. */
export function resolveShortHost(host: string, namespace: string, domain: string): string {
  if (host === "" || host.includes(".") || isWildcard(host)) return host;
  return `${host}.${namespace}.svc.${domain}`;
}
