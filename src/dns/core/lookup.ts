import { ROOT_NAME, type WireName } from "../../protocol/dns/name.ts";
import type { HostEntry, LookupTable } from "./name-table.ts";

/** A known name. With a target the answer says first that the name is an alias of it. */
export interface Match {
  readonly entry: HostEntry;
  readonly target?: WireName;
}

export interface LookupOptions {
  /** First search domain of the clients; their resolvers ask for "name + search domain" before the name itself. */
  readonly search: WireName | undefined;
  readonly expandsSearchedNames: boolean;
}

/**
 * Exact names first, then the same without the search domain, then wildcards from the most to the least specific, each likewise. Aliases
 * of the search domain are found here instead of being stored: it halves the table, and a changed search list needs no rebuild.
 */
export function lookup(table: LookupTable, name: WireName, options: LookupOptions): Match | undefined {
  const entry = table.hosts.get(name);
  if (entry !== undefined) return { entry };
  const { search } = options;
  // Everything below is the path of names that will mostly be forwarded.
  const isSearched = search !== undefined && search !== ROOT_NAME && endsWithLabels(name, search);
  if (isSearched) {
    const target = withoutSuffix(name, search);
    const found = target === ROOT_NAME ? undefined : table.hosts.get(target);
    if (found !== undefined && mayExpand(target, search, options)) return { entry: found, target };
  }
  return table.wildcards.size === 0 ? undefined : lookupWildcard(table, name, isSearched ? search : undefined, options);
}

function lookupWildcard(
  table: LookupTable,
  name: WireName,
  search: WireName | undefined,
  options: LookupOptions,
): Match | undefined {
  for (let parent = parentOf(name); parent !== ROOT_NAME; parent = parentOf(parent)) {
    const entry = table.wildcards.get(parent);
    if (entry !== undefined) return { entry };
    if (search === undefined || parent.length <= search.length) continue;
    const below = withoutSuffix(parent, search);
    const expanded = table.wildcards.get(below);
    if (expanded !== undefined && mayExpand(below, search, options))
      return { entry: expanded, target: `\x01*${below}` };
  }
  return undefined;
}

/** Resolvers with a search list ask "svc.ns.svc.cluster.local.ns.svc.cluster.local." too; nobody wants that answered. */
function mayExpand(target: WireName, search: WireName, options: LookupOptions): boolean {
  return options.expandsSearchedNames || !endsWithLabels(target, search);
}

function endsWithLabels(name: WireName, suffix: WireName): boolean {
  const boundary = name.length - suffix.length;
  if (boundary < 0 || !name.endsWith(suffix)) return false;
  let at = 0;
  while (at < boundary) at += 1 + name.charCodeAt(at);
  return at === boundary;
}

function withoutSuffix(name: WireName, suffix: WireName): WireName {
  return name.slice(0, name.length - suffix.length) + ROOT_NAME;
}

function parentOf(name: WireName): WireName {
  return name === ROOT_NAME ? ROOT_NAME : name.slice(1 + name.charCodeAt(0));
}
