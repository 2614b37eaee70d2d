import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type {
  FilterChainMatch,
  Listener,
  ListenerFilter,
  ListenerFilterChainMatchPredicate,
} from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { PLAINTEXT_HTTP } from "../shared/alpn.ts";

export const ORIGINAL_DESTINATION: ListenerFilter = {
  name: "envoy.filters.listener.original_dst",
  typedConfig: pack("envoy.extensions.filters.listener.original_dst.v3.OriginalDst", {}),
};

/** Upstream connections carry the client's own address; the mark lets the machine's rules distinguish them from new ones. */
export const ORIGINAL_SOURCE: ListenerFilter = {
  name: "envoy.filters.listener.original_src",
  typedConfig: pack("envoy.extensions.filters.listener.original_src.v3.OriginalSrc", { mark: 1337 }),
};

/** A load balancer in front sends the client's address before everything else; connections without that are refused. */
export const PROXY_PROTOCOL: ListenerFilter = {
  name: "envoy.filters.listener.proxy_protocol",
  typedConfig: pack("envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol", {}),
};

const TLS_INSPECTOR: ListenerFilter = {
  name: "envoy.filters.listener.tls_inspector",
  typedConfig: pack("envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector", { initialReadBufferSize: 512 }),
};

const HTTP_INSPECTOR: ListenerFilter = {
  name: "envoy.filters.listener.http_inspector",
  typedConfig: pack("envoy.extensions.filters.listener.http_inspector.v3.HttpInspector", {}),
};

/** What a listener of one port needs to choose among its chains. TLS comes first: HTTP is not looked for inside it. */
export function inspectorsFor(matches: readonly FilterChainMatch[]): readonly ListenerFilter[] {
  return [
    ...(matches.some(needsTlsInspector) ? [TLS_INSPECTOR] : []),
    ...(matches.some(needsHttpInspector) ? [HTTP_INSPECTOR] : []),
  ];
}

/** The same for a listener that takes connections to any port: each inspector is off where no chain asks for it. */
export function inspectorsByPort(matches: readonly FilterChainMatch[]): readonly ListenerFilter[] {
  return [
    ...inspectorOn(TLS_INSPECTOR, portNeeds(matches, needsTlsInspector)),
    ...inspectorOn(HTTP_INSPECTOR, portNeeds(matches, needsHttpInspector)),
  ];
}

function needsTlsInspector({ transportProtocol, serverNames = [] }: FilterChainMatch): boolean {
  return transportProtocol === "tls" || serverNames.length > 0;
}

function needsHttpInspector({ applicationProtocols = [] }: FilterChainMatch): boolean {
  return applicationProtocols.some((protocol) => (PLAINTEXT_HTTP as readonly string[]).includes(protocol));
}

/** Port 0 stands for the chains of all ports that have none of their own. */
type PortNeeds = ReadonlyMap<number, boolean>;

function portNeeds(matches: readonly FilterChainMatch[], needs: (match: FilterChainMatch) => boolean): PortNeeds {
  const byPort = new Map<number, boolean>();
  for (const match of matches) {
    const port = match.destinationPort ?? 0;
    byPort.set(port, needs(match) || byPort.get(port) === true);
  }
  return byPort;
}

function inspectorOn(inspector: ListenerFilter, needs: PortNeeds): readonly ListenerFilter[] {
  const portsThat = (need: boolean) =>
    [...needs].filter(([port, has]) => port !== 0 && has === need).map(([port]) => port);
  if (![...needs.values()].includes(true)) return [];
  const filterDisabled = isOptIn(inspector, needs) ? notMatch(portsThat(true)) : anyPort(portsThat(false));
  return [{ ...inspector, ...(filterDisabled !== undefined && { filterDisabled }) }];
}

/**
 * Where other ports take connections as they are, recognising TLS would take them away from their chain. Recognising HTTP on a port
 * without chain for it is harmless.
 */
function isOptIn(inspector: ListenerFilter, needs: PortNeeds): boolean {
  return inspector === TLS_INSPECTOR && needs.get(0) !== true;
}

function notMatch(ports: readonly number[]): ListenerFilterChainMatchPredicate | undefined {
  const match = anyPort(ports);
  return match === undefined ? undefined : { notMatch: match };
}

function anyPort(ports: readonly number[]): ListenerFilterChainMatchPredicate | undefined {
  const rules = ports
    .toSorted((a, b) => a - b)
    .map((port) => ({ destinationPortRange: { start: port, end: port + 1 } }));
  // Envoy wants two rules at least in a list.
  return rules.length > 1 ? { orMatch: { rules } } : rules[0];
}

/** Long enough for a lost first segment to be sent again. */
const DEFAULT_TIMEOUT_MS = 1_000;

/**
 * How long inspectors wait for the client's first bytes. Zero in the mesh's settings would mean for ever, and clients of protocols in
 * which the server speaks first would wait with them; after the time the connection is taken as plain TCP.
 */
export function detectionTimeout(
  { protocolDetectionTimeoutMs }: MeshSettings,
  listenerFilters: readonly ListenerFilter[],
): Pick<Listener, "listenerFiltersTimeout" | "listenerFilters" | "continueOnListenerFiltersTimeout"> {
  if (listenerFilters.length === 0) return { continueOnListenerFiltersTimeout: true };
  const timeoutMs = protocolDetectionTimeoutMs > 0 ? protocolDetectionTimeoutMs : DEFAULT_TIMEOUT_MS;
  return {
    listenerFilters,
    listenerFiltersTimeout: `${timeoutMs / 1000}s`,
    continueOnListenerFiltersTimeout: true,
  };
}

/** Few long connections are spread over the workers exactly, at the price of a lock for each new one. */
export function exactBalance(isWanted: boolean): Pick<Listener, "connectionBalanceConfig"> {
  return isWanted ? { connectionBalanceConfig: { exactBalance: {} } } : {};
}
