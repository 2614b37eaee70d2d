import { type DomainName, isAtOrBelow, parentName } from "../../protocol/dns/name.ts";
import type { HostEntry, LookupTable } from "./name-table.ts";

/** A known name. With a target the answer says first that the name is an alias of it. */
export interface Match {
  readonly entry: HostEntry;
  readonly target?: DomainName;
}

export interface LookupOptions {
  /** First search domain of the clients; their resolvers ask for "name + search domain" before the name itself. */
  readonly search: DomainName | undefined;
  readonly expandsSearchedNames: boolean;
}

/**
 * Exact names first, then the same without the search domain, then wildcards from the most to the least specific, each likewise. Aliases
 * of the search domain are found here instead of being stored: it halves the table, and a changed search list needs no rebuild.
 */
export function lookup(table: LookupTable, name: DomainName, options: LookupOptions): Match | undefined {
  const entry = table.hosts.get(name);
  if (entry !== undefined) return { entry };
  // Everything below is the path of names that will mostly be forwarded.
  const search = options.search !== undefined && isBelow(name, options.search) ? options.search : undefined;
  if (search !== undefined) {
    const target = name.slice(0, -search.length);
    const found = table.hosts.get(target);
    if (found !== undefined && mayExpand(target, search, options)) return { entry: found, target };
  }
  return table.wildcards.size === 0 ? undefined : lookupWildcard(table, name, search, options);
}

function lookupWildcard(
  table: LookupTable,
  name: DomainName,
  search: DomainName | undefined,
  options: LookupOptions,
): Match | undefined {
  for (let parent = parentName(name); parent !== ""; parent = parentName(parent)) {
    const entry = table.wildcards.get(parent);
    if (entry !== undefined) return { entry };
    if (search === undefined || parent.length <= search.length) continue;
    const below = parent.slice(0, -search.length);
    const expanded = table.wildcards.get(below);
    if (expanded !== undefined && mayExpand(below, search, options)) return { entry: expanded, target: `*.${below}` };
  }
  return undefined;
}

/** Resolvers with a search list ask "svc.ns.svc.cluster.local.ns.svc.cluster.local." too; that is not to be answered. */
function mayExpand(target: DomainName, search: DomainName, options: LookupOptions): boolean {
  return options.expandsSearchedNames || !isAtOrBelow(target, search);
}

function isBelow(name: DomainName, search: DomainName): boolean {
  return name.length > search.length && isAtOrBelow(name, search);
}
