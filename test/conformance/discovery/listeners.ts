import { type CaseContext, NO_CONTEXT } from "./case-context.ts";
import { type Difference, resourceDifferences } from "./difference.ts";
import { missingRouteFilters, projectHttpManager, projectNetworkFilters } from "./filters.ts";
import { asSet, canonical, type Json, list, normalized, object, objects, text, without } from "./json.ts";
import { type ClusterNames, isAcceptedRoute } from "./routes.ts";
import { projectTransportSocket } from "./tls-projection.ts";

export interface ListenerOptions {
  readonly context?: CaseContext;
  readonly clusters?: ClusterNames;
  /** Our RDS answer: filters that its routes rely on have to be in the listeners. */
  readonly routes?: readonly Json[];
}

/** Differences between two LDS answers that are not accepted. */
export function compareListeners(
  golden: readonly Json[],
  ours: readonly Json[],
  { context = NO_CONTEXT, clusters, routes = [] }: ListenerOptions = {},
): readonly Difference[] {
  const found = resourceDifferences({
    kind: "listeners",
    golden: normalized(golden),
    ours: normalized(ours),
    name: ({ name }) => text(name),
    project: (listener) => projectListener(listener, context),
  });
  const ownTls = found.filter(({ path }) => path.includes(OWN_TLS));
  return [
    ...found.filter((difference) => !isAccepted(difference, clusters)),
    ...(ownTls.some(isTlsChain) ? [] : ownTls),
    ...ours.flatMap((listener) => missingFilters(listener, routes)),
  ];
}

/** Marks chains of an ingress listener with TLS settings, which the reference ignores and which may be honoured. */
const OWN_TLS = " (own TLS)";
const FREE = ["listenerFiltersTimeout", "maxConnectionsToAcceptPerSocketEvent", "metadata", "name", "statPrefix"];

function projectListener(listener: Json, context: CaseContext): Json {
  const { listenerFilters, filterChains, defaultFilterChain, apiListener, additionalAddresses, ...rest } = without(
    listener,
    ...FREE,
  );
  const chains = objects(filterChains).filter((chain) => !context.udpPorts.has(destinationPort(chain)));
  return {
    ...rest,
    ...(apiListener !== undefined && {
      apiListener: projectHttpManager(object(object(apiListener).apiListener), context),
    }),
    ...(additionalAddresses !== undefined && { additionalAddresses: asSet(list(additionalAddresses)) }),
    listenerFilters: objects(listenerFilters).map((filter) => projectListenerFilter(filter, context)),
    filterChains: projectChains(chains, context),
    ...(defaultFilterChain !== undefined && { defaultFilterChain: projectChain(object(defaultFilterChain), context) }),
  };
}

function destinationPort(chain: Json): number {
  return Number(object(chain.filterChainMatch).destinationPort ?? 0);
}

/** Chains by what they match; two with the same match are refused by Envoy. */
function projectChains(chains: readonly Json[], context: CaseContext): Json {
  const byMatch: Record<string, unknown> = {};
  for (const chain of chains.flatMap(ofOneRange)) {
    const port = destinationPort(chain);
    const key = `{${matchKey(object(chain.filterChainMatch))}}`;
    const marked = context.ingressTlsPorts.has(port) ? `${key}${OWN_TLS}` : key;
    byMatch[marked] = marked in byMatch ? "two chains with this match" : projectChain(chain, context);
  }
  return byMatch;
}

/** A chain of several ranges takes the same connections as one for each. */
function ofOneRange(chain: Json): readonly Json[] {
  const match = object(chain.filterChainMatch);
  const ranges = list(match.prefixRanges);
  if (ranges.length < 2) return [chain];
  return ranges.map((range) => ({ ...chain, filterChainMatch: { ...match, prefixRanges: [range] } }));
}

function matchKey(match: Json): string {
  const { applicationProtocols, serverNames, prefixRanges, ...rest } = match;
  const sets = { applicationProtocols, serverNames, prefixRanges };
  return Object.entries({ ...rest, ...sets })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${Array.isArray(value) ? Object.keys(asSet(value)).join("+") : canonical(value)}`)
    .sort()
    .join(", ");
}

function projectChain(chain: Json, context: CaseContext): Json {
  const {
    filterChainMatch: _match,
    filters,
    transportSocket,
    ...rest
  } = without(chain, "metadata", "name", "transportSocketConnectTimeout");
  return {
    ...rest,
    tls: projectTransportSocket(transportSocket),
    filters: projectNetworkFilters(filters, context),
  };
}

function projectListenerFilter({ name, typedConfig, filterDisabled }: Json, context: CaseContext): Json {
  // A port with TLS of its own needs the inspector that the reference turns off there.
  const free = [context.udpPorts, context.ingressTlsPorts];
  const ports = disabledPorts(object(filterDisabled)).filter((port) => !free.some((set) => set.has(Number(port))));
  return {
    name,
    config: without(object(typedConfig), "initialReadBufferSize"),
    // Port 0 is noise of the reference.
    disabled: asSet(ports.filter((port) => port !== "0")),
  };
}

/** A range ends before its end. */
function disabledPorts(predicate: Json): readonly string[] {
  const { destinationPortRange, orMatch, ...other } = predicate;
  const { start, end } = object(destinationPortRange);
  const [first, last] = [Number(start ?? 0), Number(end ?? 0) - 1];
  return [
    ...(destinationPortRange === undefined ? [] : [first === last ? String(first) : `${first}-${last}`]),
    ...objects(object(orMatch).rules).flatMap(disabledPorts),
    ...Object.entries(other).map((entry) => canonical(entry)),
  ];
}

function isAccepted(difference: Difference, clusters: ClusterNames | undefined): boolean {
  const { path, golden, ours } = difference;
  if (isOtherFamily(path)) return golden === undefined;
  if (path.endsWith(".tls.alpn")) return isSubset(ours, golden);
  if (path.includes(OWN_TLS)) return true;
  return isAcceptedRoute(difference, clusters);
}

/** Redirected connections of a proxy with both families come by both; the reference has a switch for it, which is off. */
function isOtherFamily(path: string): boolean {
  return /^listeners\[virtual(In|Out)bound\]\.additionalAddresses$/.test(path);
}

/** Offering less than the reference is stricter, and right. */
function isSubset(ours: unknown, golden: unknown): boolean {
  return list(ours).length > 0 && list(ours).every((protocol) => list(golden).includes(protocol));
}

/** Instead of the plaintext one of the reference. */
function isTlsChain({ path, golden, ours }: Difference): boolean {
  const isWhole = path.endsWith(OWN_TLS) && golden === undefined;
  return isWhole && path.includes('transportProtocol "tls"') && object(ours).tls !== "plaintext";
}

function missingFilters(listener: Json, routes: readonly Json[]): readonly Difference[] {
  const chains = [...objects(listener.filterChains), object(listener.defaultFilterChain)];
  const managers = [
    ...chains.flatMap(({ filters }) => objects(filters)).map(({ typedConfig }) => object(typedConfig)),
    object(object(listener.apiListener).apiListener),
  ];
  return managers
    .flatMap((manager) => missingRouteFilters(manager, routes))
    .map((name) => ({
      path: `listeners[${text(listener.name)}].httpFilters`,
      golden: `${name}, which a route uses`,
      ours: undefined,
    }));
}
