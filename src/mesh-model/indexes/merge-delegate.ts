import type { HttpMatch, HttpRoute, StringMatch } from "../../istio-api/specs.ts";

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

/** Requests that both the root's and the delegate's match accept; undefined when the delegate's is not plainly part of the root's. */
export function mergeMatch(root: HttpMatch, delegate: HttpMatch): HttpMatch | undefined {
  if (!isWithin(root, delegate)) return undefined;
  const { uri = root.uri, scheme = root.scheme, method = root.method, authority = root.authority } = delegate;
  return {
    name: joinNames(root.name, delegate.name),
    ...(uri && { uri }),
    ...(scheme && { scheme }),
    ...(method && { method }),
    ...(authority && { authority }),
    headers: { ...root.headers, ...delegate.headers },
    queryParams: { ...root.queryParams, ...delegate.queryParams },
    withoutHeaders: { ...root.withoutHeaders, ...delegate.withoutHeaders },
    sourceLabels: { ...root.sourceLabels, ...delegate.sourceLabels },
    port: delegate.port || root.port,
    sourceNamespace: delegate.sourceNamespace || root.sourceNamespace,
    statPrefix: delegate.statPrefix || root.statPrefix,
    gateways: delegate.gateways.length > 0 ? delegate.gateways : root.gateways,
    ignoreUriCase: delegate.ignoreUriCase,
  };
}

/** `root-delegate`, or the one that is there. */
function joinNames(root: string, delegate: string): string {
  return [root, delegate].filter((name) => name !== "").join("-");
}

function isWithin(root: HttpMatch, delegate: HttpMatch): boolean {
  return (
    TEXTS.every((name) => isPart(root[name], delegate[name])) &&
    MAPS.every((name) => everyShared(root[name], delegate[name], isPart)) &&
    everyShared(root.sourceLabels, delegate.sourceLabels, (a, b) => a === b) &&
    root.ignoreUriCase === delegate.ignoreUriCase &&
    (root.port === 0 || delegate.port === 0 || root.port === delegate.port) &&
    // A root for one namespace wants delegates to say so, too.
    (root.sourceNamespace === "" || root.sourceNamespace === delegate.sourceNamespace) &&
    // A delegate may narrow the gateways of its root, not add to them.
    (root.gateways.length === 0 || delegate.gateways.every((gateway) => root.gateways.includes(gateway)))
  );
}

const TEXTS = ["uri", "scheme", "method", "authority"] as const;
const MAPS = ["headers", "withoutHeaders", "queryParams"] as const;

/** The same text, or one that begins with the root's prefix. Regular expressions, and "present", are never compared. */
function isPart(root: StringMatch | undefined, delegate: StringMatch | undefined): boolean {
  if (root === undefined || delegate === undefined) return true;
  if (root.exact) return root.exact === delegate.exact;
  const inner = delegate.prefix || delegate.exact;
  return root.prefix && inner ? inner.startsWith(root.prefix) : false;
}

function everyShared<Value>(
  root: Readonly<Record<string, Value>>,
  delegate: Readonly<Record<string, Value>>,
  holds: (root: Value, delegate: Value) => boolean,
): boolean {
  return Object.entries(delegate).every(
    ([key, value]) => !Object.hasOwn(root, key) || holds(root[key] as Value, value),
  );
}
