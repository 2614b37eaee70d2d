import type { HttpMatch, HttpRoute } from "../../istio-api/specs/virtual-service.ts";
import { joinNames, mergeMatch } from "./merge-match.ts";

/**
 * The routes of a delegate as they work below a route of the root: matches of both together, names joined, settings of the delegate
 * where it has them. A route with a match that lies in none of the root's is left out, and so is one that delegates again.
 */
export function mergeDelegate(root: HttpRoute, delegate: readonly HttpRoute[]): readonly HttpRoute[] {
  return delegate.flatMap((route) => {
    if (route.delegate !== undefined) return [];
    const match = mergeMatches(root.match, route.match);
    return match === undefined ? [] : [withRootSettings(root, route, match)];
  });
}

function mergeMatches(root: readonly HttpMatch[], delegate: readonly HttpMatch[]): readonly HttpMatch[] | undefined {
  if (root.length === 0) return delegate;
  if (delegate.length === 0) return root;
  const merged = delegate.map((inner) => root.flatMap((outer) => mergeMatch(outer, inner) ?? []));
  return merged.some((matches) => matches.length === 0) ? undefined : merged.flat();
}

function withRootSettings(root: HttpRoute, route: HttpRoute, match: readonly HttpMatch[]): HttpRoute {
  const { delegate: _used, match: _merged, route: _none, mirrors, ...settings } = root;
  return {
    ...settings,
    ...route,
    name: joinNames(root.name, route.name),
    match,
    mirrors: route.mirrors.length > 0 ? route.mirrors : mirrors,
  };
}
