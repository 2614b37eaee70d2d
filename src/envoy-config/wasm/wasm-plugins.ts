import { type ConfigObject, compareAge } from "../../istio-api/config-object.ts";
import type { WasmPluginSpec } from "../../istio-api/specs.ts";
import type { ConfigSnapshot } from "../../mesh-model/config-store.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import { selects } from "../../mesh-model/selector.ts";
import type { ExtensionConfigSource } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { Filter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { HttpFilter } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { TYPE_PREFIX } from "../../protobuf/type-url.ts";
import { type FailedObject, withoutFailing } from "../shared/attempt.ts";

export type WasmPlugin = ConfigObject<"WasmPlugin">;

/** Whose traffic a filter chain carries, and on which port. */
export interface ChainPlace {
  /** Calls made are a client's, calls taken a server's; a gateway counts as a client. */
  readonly mode: "CLIENT" | "SERVER";
  /** Of the service for a client, of the workload for a server; 0: one that no rule can name. */
  readonly port: number;
}

/** Where among the filters of a layer plugins of a phase go. */
export interface PluginPlaces {
  /** Before tokens are looked at. */
  readonly authn: number;
  /** Before rules on access are applied. */
  readonly authz: number;
}

/** Plugins for proxies that are alike. */
export interface WasmPlugins {
  /** All of them, wherever they apply. */
  readonly all: readonly WasmPlugin[];
  /** Objects that cannot be read. */
  readonly failed: readonly FailedObject[];
  /** `filters` with the plugins of the chain among them. */
  http(filters: readonly HttpFilter[], places: PluginPlaces, at: ChainPlace): readonly HttpFilter[];
  network(filters: readonly Filter[], places: PluginPlaces, at: ChainPlace): readonly Filter[];
}

/** What WasmPlugin objects say about proxies of the scope. */
export function scopePlugins({ snapshot, mesh, traits }: OutboundScope): WasmPlugins {
  return selectPlugins(snapshot.configs, mesh.rootNamespace, traits);
}

interface PluggedWorkload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Of one phase, the highest priority comes first; then the workload's own namespace before the root namespace, then age. */
export function selectPlugins(
  configs: Pick<ConfigSnapshot, "list">,
  rootNamespace: string,
  { namespace, labels }: PluggedWorkload,
): WasmPlugins {
  const objects = [...new Set([namespace, rootNamespace])].flatMap((owner) =>
    configs.list("WasmPlugin", owner).toSorted(compareAge),
  );
  const { made, failed } = withoutFailing(objects, (some) => pluginsOf(some, labels));
  return { ...made, failed };
}

/** Fails where something that chains will ask about an object cannot be read. */
function pluginsOf(
  objects: readonly WasmPlugin[],
  labels: Readonly<Record<string, string>>,
): Omit<WasmPlugins, "failed"> {
  const known = objects
    // Those that name a target are for gateways of the Gateway API.
    .filter(({ spec }) => spec.targetRef === undefined && spec.targetRefs.length === 0)
    .filter(({ spec }) => selects(spec.selector?.matchLabels ?? {}, labels))
    .map((plugin) => {
      const { phase, type, match } = plugin.spec;
      return { plugin, phase, isNetwork: type === "NETWORK", match, priority: priorityOf(plugin) };
    })
    .sort((a, b) => b.priority - a.priority);
  const place = <Layer extends HttpFilter | Filter>(
    filters: readonly Layer[],
    { authn, authz }: PluginPlaces,
    of: (phase: WasmPluginSpec["phase"]) => readonly Layer[],
  ): readonly Layer[] =>
    known.length === 0
      ? filters
      : [
          ...filters.slice(0, authn),
          ...of("AUTHN"),
          ...filters.slice(authn, authz),
          ...of("AUTHZ"),
          ...filters.slice(authz),
          ...of("STATS"),
          ...of("UNSPECIFIED_PHASE"),
        ];
  const ofPhase = (layer: keyof typeof TYPES, phase: WasmPluginSpec["phase"], at: ChainPlace) =>
    known
      .filter((one) => one.phase === phase && one.isNetwork === (layer === "network") && matches(one, at))
      .map(({ plugin }) => ({ name: resourceName(plugin), configDiscovery: discovery(layer) }));
  return {
    all: known.map(({ plugin }) => plugin),
    http: (filters, places, at) => place(filters, places, (phase) => ofPhase("http", phase, at)),
    network: (filters, places, at) => place(filters, places, (phase) => ofPhase("network", phase, at)),
  };
}

/** In front of chains that nothing else looks at. */
export const IN_FRONT: PluginPlaces = { authn: 0, authz: 0 };

/** The extension configuration that the filter of a plugin is made of. */
export function resourceName({ namespace, name }: Pick<WasmPlugin, "namespace" | "name">): string {
  return `extensions.istio.io/wasmplugin/${namespace}.${name}`;
}

/** One that has none comes after all that have. */
function priorityOf({ spec }: WasmPlugin): number {
  return spec.priority ?? Number.MIN_SAFE_INTEGER;
}

function matches({ match }: Pick<WasmPluginSpec, "match">, { mode, port }: ChainPlace): boolean {
  if (match.length === 0) return true;
  return match.some(({ mode: wanted, ports }) => {
    const isMode = wanted === "UNDEFINED" || wanted === "CLIENT_AND_SERVER" || wanted === mode;
    return isMode && (ports.length === 0 || ports.some(({ number }) => number !== 0 && number === port));
  });
}

/** The module itself, or the filter that agents put in its place when it cannot be had. */
const TYPES = {
  http: ["envoy.extensions.filters.http.wasm.v3.Wasm", "envoy.extensions.filters.http.rbac.v3.RBAC"],
  network: ["envoy.extensions.filters.network.wasm.v3.Wasm", "envoy.extensions.filters.network.rbac.v3.RBAC"],
} as const;

/** Zero: the listener waits for the module instead of passing requests without it, as it may be there for security. */
function discovery(layer: keyof typeof TYPES): ExtensionConfigSource {
  return {
    configSource: { ads: {}, initialFetchTimeout: "0s", resourceApiVersion: "V3" },
    typeUrls: TYPES[layer].map((type) => `${TYPE_PREFIX}${type}`),
  };
}
