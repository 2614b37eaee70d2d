import { CodecError, parseMessage } from "../../protobuf/envoy/index.ts";
import type { EnvoyPatch } from "../specs.ts";

/** What patches of each kind are made of. */
const MESSAGES: Readonly<Partial<Record<EnvoyPatch["applyTo"], string>>> = {
  LISTENER: "envoy.config.listener.v3.Listener",
  FILTER_CHAIN: "envoy.config.listener.v3.FilterChain",
  NETWORK_FILTER: "envoy.config.listener.v3.Filter",
  HTTP_FILTER: "envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter",
  ROUTE_CONFIGURATION: "envoy.config.route.v3.RouteConfiguration",
  VIRTUAL_HOST: "envoy.config.route.v3.VirtualHost",
  HTTP_ROUTE: "envoy.config.route.v3.Route",
  CLUSTER: "envoy.config.cluster.v3.Cluster",
  EXTENSION_CONFIG: "envoy.config.core.v3.TypedExtensionConfig",
  LISTENER_FILTER: "envoy.config.listener.v3.ListenerFilter",
  BOOTSTRAP: "envoy.config.bootstrap.v3.Bootstrap",
};

export function patchedMessage(applyTo: EnvoyPatch["applyTo"]): string | undefined {
  return MESSAGES[applyTo];
}

/** The value of a patch in canonical form; a text says why no proxy could take it. */
export function readPatchValue(applyTo: EnvoyPatch["applyTo"], value: unknown): object | string {
  const name = MESSAGES[applyTo];
  if (name === undefined) return `${applyTo} is nothing that a proxy gets from here`;
  try {
    return parseMessage(name, value ?? {});
  } catch (thrown) {
    if (thrown instanceof CodecError) return thrown.message;
    throw thrown;
  }
}
