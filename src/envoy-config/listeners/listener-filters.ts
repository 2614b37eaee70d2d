import { pack } from "../../protobuf/envoy/index.ts";
import type {
  FilterChainMatch,
  ListenerFilter,
  ListenerFilterChainMatchPredicate,
} from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { PLAINTEXT_HTTP } from "./alpn.ts";

export const ORIGINAL_DESTINATION: ListenerFilter = {
  name: "envoy.filters.listener.original_dst",
  typedConfig: pack("envoy.extensions.filters.listener.original_dst.v3.OriginalDst", {}),
};

/** Upstream connections carry the client's own address; the mark lets the machine's rules tell them from new ones. */
export const ORIGINAL_SOURCE: ListenerFilter = {
  name: "envoy.filters.listener.original_src",
  typedConfig: pack("envoy.extensions.filters.listener.original_src.v3.OriginalSrc", { mark: 1337 }),
};

/** A load balancer in front tells the client's address before everything else; connections without that are refused. */
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
