import type { FilterChain, Listener, ListenerFilter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import { VIRTUAL_INBOUND } from "../listeners/inbound.ts";
import { isMeantChain, isMeantListener, isVirtual, listenerFilterNamed, patchNetworkFilters } from "./patch-filters.ts";
import type { Patch } from "./patches.ts";
import {
  addsHere,
  applied,
  isMerge,
  mergeNamed,
  mergePatch,
  mergeSocket,
  type Patching,
  RENAMED,
  shapeList,
  takenName,
} from "./patching.ts";

/** From the outside in: listeners, their filters, chains, network filters, HTTP filters; then what is added. */
export function patchListeners(patching: Patching, given: readonly Listener[]): readonly Listener[] {
  let listeners: readonly Listener[] = given.flatMap(
    (listener) => applied(patching, listener.name ?? "", (some) => patchListener(some, listener)) ?? [],
  );
  for (const patch of patching.of("LISTENER")) {
    if (!addsHere(patch, patching.context)) continue;
    const added: Listener = patch.value;
    const taken = takenBy(patching, listeners, added);
    if (taken === undefined) listeners = [...listeners, added];
    else patching.refuse(patch, added.name ?? "", taken);
  }
  return listeners;
}

function takenBy({ context }: Patching, listeners: readonly Listener[], added: Listener): string | undefined {
  const { name: wanted = "" } = added;
  if (wanted === "") return "a listener needs a name";
  // Outbound patches do not see the inbound listener, which would have to give way to this one.
  const isForeign = context === "SIDECAR_OUTBOUND" && wanted === VIRTUAL_INBOUND;
  if (isForeign || listeners.some(({ name }) => name === wanted)) return takenName(wanted);
  const wantedAddress = addressOf(added);
  const other = wantedAddress === "" ? undefined : listeners.find((listener) => addressOf(listener) === wantedAddress);
  return other && `listener ${other.name} has the address ${wantedAddress}`;
}

function addressOf({ address }: Listener): string {
  const { address: host = "", portValue = 0 } = address?.socketAddress ?? {};
  return host === "" ? "" : `${host}:${portValue}`;
}

function patchListener(patching: Patching, given: Listener): Listener | undefined {
  let listener = given;
  for (const patch of patching.of("LISTENER")) {
    if (!isMeantListener(patch, listener)) continue;
    if (patch.operation === "REMOVE") return undefined;
    if (!isMerge(patch)) continue;
    const merged = mergePatch(listener, patch);
    if (merged.name === given.name) listener = merged;
    else patching.refuse(patch, given.name ?? "", RENAMED);
  }
  return patchChains(patching, patchListenerFilters(patching, listener));
}

function patchListenerFilters(patching: Patching, listener: Listener): Listener {
  const patches = patching.of("LISTENER_FILTER").filter((patch) => isMeantListener(patch, listener));
  if (patches.length === 0) return listener;
  let listenerFilters: readonly ListenerFilter[] = listener.listenerFilters ?? [];
  for (const patch of patches) {
    const isNamed = listenerFilterNamed(patch);
    listenerFilters = shapeList(listenerFilters, patch, isNamed);
    if (patch.operation !== "MERGE" || isNamed === undefined) continue;
    listenerFilters = listenerFilters.map((filter) => {
      const merged = isNamed(filter) ? mergeNamed(filter, patch.value) : filter;
      if (typeof merged === "string") patching.refuse(patch, listener.name ?? "", merged);
      return typeof merged === "string" ? filter : merged;
    });
  }
  return { ...listener, listenerFilters };
}

function patchChains(patching: Patching, listener: Listener): Listener | undefined {
  const { filterChains: chains = [], defaultFilterChain: last, ...rest } = listener;
  let filterChains: readonly FilterChain[] = chains.flatMap((chain) => patchChain(patching, listener, chain) ?? []);
  for (const patch of patching.of("FILTER_CHAIN")) {
    if (patch.operation !== "ADD" || !isMeantListener(patch, listener)) continue;
    const added: FilterChain = patch.value;
    if (!filterChains.some((chain) => matchOf(chain) === matchOf(added))) filterChains = [...filterChains, added];
    // A port means listeners for redirected connections as well, which have more chains than the patch was written for.
    else if (!isVirtual(listener)) patching.refuse(patch, listener.name ?? "", "another chain has the same match");
  }
  const defaultFilterChain = last && patchChain(patching, listener, last);
  if (filterChains.length === 0 && defaultFilterChain === undefined) {
    const removal = patching.of("FILTER_CHAIN").find(({ operation }) => operation === "REMOVE");
    if (removal !== undefined)
      patching.refuse(removal, listener.name ?? "", "no chain is left: the listener is left out");
    return undefined;
  }
  return {
    ...rest,
    ...(filterChains.length > 0 && { filterChains }),
    ...(defaultFilterChain !== undefined && { defaultFilterChain }),
  };
}

/** Proxies refuse two chains of a listener with the same match. */
function matchOf({ filterChainMatch = {} }: FilterChain): string {
  return JSON.stringify(Object.entries(filterChainMatch).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function patchChain(patching: Patching, listener: Listener, given: FilterChain): FilterChain | undefined {
  let chain = given;
  for (const patch of patching.of("FILTER_CHAIN")) {
    if (!isMeantListener(patch, listener) || !isMeantChain(patch, listener, chain)) continue;
    if (patch.operation === "REMOVE") return undefined;
    if (!isMerge(patch)) continue;
    const merged = mergeChain(chain, patch);
    if (typeof merged === "string") patching.refuse(patch, listener.name ?? "", merged);
    else chain = merged;
  }
  return patchNetworkFilters(patching, listener, chain);
}

function mergeChain(chain: FilterChain, patch: Patch): FilterChain | string {
  const { transportSocket: over } = patch.value as FilterChain;
  const merged = mergePatch(chain, patch);
  if (over === undefined) return merged;
  const transportSocket = mergeSocket(chain.transportSocket, over);
  return typeof transportSocket === "string" ? transportSocket : { ...merged, transportSocket };
}
