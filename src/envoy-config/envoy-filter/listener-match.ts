import type { Filter, FilterChain, Listener, ListenerFilter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { Patch } from "./read-patches.ts";

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

export function networkFilterNamed({ match }: Patch): Named<Filter> {
  const wanted = match.listener?.filterChain?.filter;
  return wanted === undefined ? undefined : ({ name }) => name === wanted.name;
}

export function httpFilterNamed({ match }: Patch): Named<HttpFilter> {
  const wanted = match.listener?.filterChain?.filter?.subFilter;
  return wanted === undefined ? undefined : ({ name }) => name === wanted.name;
}
