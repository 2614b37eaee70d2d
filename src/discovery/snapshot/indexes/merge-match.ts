import type { HttpMatch, StringMatch } from "../../specs/virtual-service.ts";

/** Requests that both the root's and the delegate's match accept; undefined when they contradict each other. */
export function mergeMatch(root: HttpMatch, delegate: HttpMatch): HttpMatch | undefined {
  const uri = both(root.uri, delegate.uri);
  const scheme = both(root.scheme, delegate.scheme);
  const method = both(root.method, delegate.method);
  const authority = both(root.authority, delegate.authority);
  const headers = bothMaps(root.headers, delegate.headers, both);
  const queryParams = bothMaps(root.queryParams, delegate.queryParams, both);
  const withoutHeaders = bothMaps(root.withoutHeaders, delegate.withoutHeaders, equalOnly);
  const sourceLabels = bothMaps(root.sourceLabels, delegate.sourceLabels, (a, b) => (a === b ? a : CONFLICT));
  const port = scalar(root.port, delegate.port, 0);
  const sourceNamespace = scalar(root.sourceNamespace, delegate.sourceNamespace, "");
  const statPrefix = scalar(root.statPrefix, delegate.statPrefix, "");
  const gateways = mergeGateways(root.gateways, delegate.gateways);
  if (root.uri !== undefined && delegate.uri !== undefined && root.ignoreUriCase !== delegate.ignoreUriCase) return;
  if (
    uri === CONFLICT ||
    scheme === CONFLICT ||
    method === CONFLICT ||
    authority === CONFLICT ||
    headers === CONFLICT ||
    queryParams === CONFLICT ||
    withoutHeaders === CONFLICT ||
    sourceLabels === CONFLICT ||
    port === CONFLICT ||
    sourceNamespace === CONFLICT ||
    statPrefix === CONFLICT ||
    gateways === CONFLICT
  ) {
    return undefined;
  }
  return {
    name: joinNames(root.name, delegate.name),
    ...(uri && { uri }),
    ...(scheme && { scheme }),
    ...(method && { method }),
    ...(authority && { authority }),
    headers,
    queryParams,
    withoutHeaders,
    sourceLabels,
    port,
    sourceNamespace,
    statPrefix,
    gateways,
    ignoreUriCase: delegate.uri === undefined ? root.ignoreUriCase : delegate.ignoreUriCase,
  };
}

/** `root-delegate`, or the one that is there. */
export function joinNames(root: string, delegate: string): string {
  return [root, delegate].filter((name) => name !== "").join("-");
}

const CONFLICT = Symbol("conflict");
type Conflict = typeof CONFLICT;

/** The narrower of two. Kinds may differ only where one plainly contains the other: a prefix and what begins with it. */
function both(root: StringMatch | undefined, delegate: StringMatch | undefined): StringMatch | undefined | Conflict {
  if (root === undefined || isAny(root)) return delegate ?? root;
  if (delegate === undefined || isAny(delegate)) return root;
  if (isEqual(root, delegate)) return delegate;
  if (root.prefix === undefined) return CONFLICT;
  const inner = delegate.exact ?? delegate.prefix;
  return inner?.startsWith(root.prefix) ? delegate : CONFLICT;
}

function equalOnly(root: StringMatch, delegate: StringMatch): StringMatch | Conflict {
  return isEqual(root, delegate) ? delegate : CONFLICT;
}

/** Only presence is asked for. */
function isAny({ exact = "", prefix = "", regex = "" }: StringMatch): boolean {
  return exact === "" && prefix === "" && regex === "";
}

function isEqual(a: StringMatch, b: StringMatch): boolean {
  return a.exact === b.exact && a.prefix === b.prefix && a.regex === b.regex;
}

function bothMaps<Value>(
  root: Readonly<Record<string, Value>>,
  delegate: Readonly<Record<string, Value>>,
  merge: (root: Value, delegate: Value) => Value | undefined | Conflict,
): Readonly<Record<string, Value>> | Conflict {
  const merged: Record<string, Value> = { ...root };
  for (const [key, value] of Object.entries(delegate)) {
    const known = Object.hasOwn(root, key) ? root[key] : undefined;
    const result = known === undefined ? value : merge(known, value);
    if (result === CONFLICT) return CONFLICT;
    if (result !== undefined) merged[key] = result;
  }
  return merged;
}

function scalar<Value>(root: Value, delegate: Value, unset: Value): Value | Conflict {
  if (root === unset || root === delegate) return delegate;
  return delegate === unset ? root : CONFLICT;
}

/** A delegate may narrow the gateways of its root, not add to them. */
function mergeGateways(root: readonly string[], delegate: readonly string[]): readonly string[] | Conflict {
  if (root.length === 0) return delegate;
  if (delegate.length === 0) return root;
  return delegate.every((gateway) => root.includes(gateway)) ? delegate : CONFLICT;
}
