import type { AnyMessage } from "../../protobuf/envoy/index.ts";
import type { Filter, FilterChain, Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { shapeList } from "./list-operations.ts";
import { httpFilterNamed, isMeantChain, isMeantListener, networkFilterNamed } from "./listener-match.ts";
import { mergeNamed } from "./merge-socket.ts";
import { patchRoute } from "./patch-routes.ts";
import type { Patching } from "./patching.ts";
import type { Patch } from "./read-patches.ts";

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
