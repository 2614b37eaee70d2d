import type { AnyMessage } from "../../protobuf/envoy/index.ts";
import type { Filter, FilterChain, Listener, ListenerFilter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { patchRoute } from "./patch-routes.ts";
import type { Patch } from "./patches.ts";
import { mergeNamed, type Patching, shapeList } from "./patching.ts";

const HTTP_MANAGER = "envoy.filters.network.http_connection_manager";

/** The chain itself where nothing is patched in it. Routes that come with a manager go first, as they were there before the chain. */
export function patchNetworkFilters(patching: Patching, listener: Listener, chain: FilterChain): FilterChain {
  const isHere = (patch: Patch) => isMeantListener(patch, listener) && isMeantChain(patch, listener, chain);
  const network = patching.of("NETWORK_FILTER").filter(isHere);
  const http = patching.of("HTTP_FILTER").filter(isHere);
  const resource = listener.name ?? "";
  let filters = (chain.filters ?? []).map((filter) => patchOwnRoutes(patching, filter));
  filters = shape(patching, resource, filters, network, networkFilterNamed);
  filters = filters.map((filter) => merge(patching, resource, filter, network, networkFilterNamed));
  filters = filters.map((filter) => patchHttpFilters(patching, resource, filter, http));
  return chain.filters === undefined ? chain : { ...chain, filters };
}

type NamedBy<Item> = (patch: Patch) => ((item: Item) => boolean) | undefined;

interface AnyFilter {
  readonly name?: string | undefined;
  readonly typedConfig?: AnyMessage | undefined;
}

/** Everything that changes which filters there are. */
function shape<Item extends AnyFilter>(
  patching: Patching,
  resource: string,
  given: readonly Item[],
  patches: readonly Patch[],
  namedBy: NamedBy<Item>,
): Item[] {
  let filters = given;
  for (const patch of patches) {
    const shaped = shapeList(filters, patch, namedBy(patch));
    const stray = strayFilter(shaped);
    if (stray === undefined || strayFilter(filters) !== undefined) filters = shaped;
    else patching.refuse(patch, resource, `${stray} must be the last filter; use INSERT_BEFORE with a match on it`);
  }
  return [...filters];
}

/** These answer or forward what comes to them; proxies refuse a chain that goes on behind them. */
const LAST =
  /\.(HttpConnectionManager|TcpProxy|Router|Echo|RedisProxy|ThriftProxy|DubboProxy|GenericProxy|network\.direct_response\.v3\.Config)$/;

function strayFilter(filters: readonly AnyFilter[]): string | undefined {
  return filters.slice(0, -1).find(({ typedConfig }) => LAST.test(typedConfig?.["@type"] ?? ""))?.name;
}

function merge<Item extends AnyFilter>(
  patching: Patching,
  resource: string,
  given: Item,
  patches: readonly Patch[],
  namedBy: NamedBy<Item>,
): Item {
  let filter = given;
  for (const patch of patches) {
    const isNamed = namedBy(patch);
    if (patch.operation !== "MERGE" || (isNamed !== undefined && !isNamed(filter))) continue;
    const merged = mergeNamed(filter, patch.value);
    if (typeof merged !== "string") filter = merged;
    else if (isNamed !== undefined) patching.refuse(patch, resource, merged);
  }
  return filter;
}

function patchHttpFilters(patching: Patching, resource: string, filter: Filter, patches: readonly Patch[]): Filter {
  const here = patches.filter((patch) => networkFilterNamed(patch)?.(filter) ?? true);
  if (here.length === 0 || filter.name !== HTTP_MANAGER || filter.typedConfig === undefined) return filter;
  const { httpFilters: given = [] } = filter.typedConfig as { readonly httpFilters?: readonly HttpFilter[] };
  const httpFilters = shape(patching, resource, given, here, httpFilterNamed).map((one) =>
    merge(patching, resource, one, here, httpFilterNamed),
  );
  return { ...filter, typedConfig: { ...filter.typedConfig, httpFilters } };
}

function patchOwnRoutes(patching: Patching, filter: Filter): Filter {
  const { routeConfig } = (filter.typedConfig ?? {}) as { readonly routeConfig?: RouteConfiguration };
  if (routeConfig === undefined || filter.typedConfig === undefined) return filter;
  const patched = patchRoute(patching, routeConfig);
  return patched === routeConfig ? filter : { ...filter, typedConfig: { ...filter.typedConfig, routeConfig: patched } };
}

type Named<Item> = ((item: Item) => boolean) | undefined;

/** Listeners for redirected connections have every port: there a port is one of a filter chain. */
export function isVirtual({ name }: Listener): boolean {
  return name === "virtualInbound" || name === "virtualOutbound";
}

export function isMeantListener({ match, applyTo }: Patch, listener: Listener): boolean {
  const wanted = match.listener;
  if (wanted === undefined) return true;
  if (wanted.name !== "" && wanted.name !== listener.name) return false;
  if (wanted.portNumber === 0 || (applyTo !== "LISTENER" && isVirtual(listener))) return true;
  return listener.address?.socketAddress?.portValue === wanted.portNumber;
}

export function isMeantChain({ match }: Patch, listener: Listener, chain: FilterChain): boolean {
  const wanted = match.listener;
  if (wanted === undefined) return true;
  const { serverNames, applicationProtocols, transportProtocol, destinationPort } = chain.filterChainMatch ?? {};
  if (isVirtual(listener) && wanted.portNumber !== 0 && wanted.portNumber !== destinationPort) return false;
  const {
    name,
    sni,
    transportProtocol: transport,
    applicationProtocols: alpn,
    destinationPort: port,
  } = {
    ...EMPTY,
    ...wanted.filterChain,
  };
  return (
    (name === "" || name === chain.name) &&
    (sni === "" || (serverNames ?? []).includes(sni)) &&
    (transport === "" || transport === transportProtocol) &&
    (alpn === "" || alpn.split(",").every((protocol) => (applicationProtocols ?? []).includes(protocol))) &&
    (port === 0 || port === destinationPort)
  );
}

const EMPTY = { name: "", sni: "", transportProtocol: "", applicationProtocols: "", destinationPort: 0 };

export function listenerFilterNamed({ match }: Patch): Named<ListenerFilter> {
  const name = match.listener?.listenerFilter ?? "";
  return name === "" ? undefined : (filter) => filter.name === name;
}

function networkFilterNamed({ match }: Patch): Named<Filter> {
  const wanted = match.listener?.filterChain?.filter;
  return wanted === undefined ? undefined : ({ name }) => name === wanted.name;
}

function httpFilterNamed({ match }: Patch): Named<HttpFilter> {
  const wanted = match.listener?.filterChain?.filter?.subFilter;
  return wanted === undefined ? undefined : ({ name }) => name === wanted.name;
}
