import type { AnyConfigObject, ObjectRef } from "../../../istio-api/config-object.ts";
import type { Kind } from "../../../istio-api/kinds.ts";
import type { EnvoyPatch } from "../../../istio-api/specs.ts";
import type { ProxyView } from "../../../mesh-model/push-snapshot.ts";
import { selects } from "../../../mesh-model/selector.ts";
import type { XdsType } from "../../../xds/xds-types.ts";

/** The resources that a patch can spoil. */
const PATCHED: Readonly<Partial<Record<EnvoyPatch["applyTo"], XdsType>>> = {
  CLUSTER: "CDS",
  LISTENER: "LDS",
  FILTER_CHAIN: "LDS",
  NETWORK_FILTER: "LDS",
  HTTP_FILTER: "LDS",
  LISTENER_FILTER: "LDS",
  ROUTE_CONFIGURATION: "RDS",
  VIRTUAL_HOST: "RDS",
  HTTP_ROUTE: "RDS",
  EXTENSION_CONFIG: "ECDS",
};

/**
 * Rule objects that a refused configuration may come from: patches of resources of the type, which can say anything, plugins, and rules
 * for a host that the proxy's message names. Of several patches those count that the message speaks of, where it does of any.
 */
export function refusedObjects(
  { outbound, node, snapshot }: Pick<ProxyView, "outbound" | "node" | "snapshot">,
  type: XdsType,
  message: string,
): readonly AnyConfigObject[] {
  const names = (host: string) => host !== "" && message.includes(host);
  const namespaces = [...new Set([snapshot.mesh.rootNamespace, node.namespace])];
  const near = <Of extends Kind>(kind: Of) => namespaces.flatMap((owner) => snapshot.configs.list(kind, owner));
  const patches = near("EnvoyFilter").filter(
    ({ spec }) =>
      selects(spec.workloadSelector?.labels ?? {}, node.labels) &&
      spec.configPatches.some(({ applyTo }) => PATCHED[applyTo] === type),
  );
  const named = patches.filter(({ spec }) =>
    spec.configPatches.some(({ applyTo, patch }) => PATCHED[applyTo] === type && nameOf(patch?.value).some(names)),
  );
  const plugins = near("WasmPlugin").filter(({ namespace, name }) => names(`${namespace}.${name}`));
  const destinations = outbound.services
    .filter(({ hostname }) => names(hostname))
    .flatMap((service) => outbound.destinationRule(service)?.objects ?? []);
  const routes = [...outbound.egress, ...(outbound.gateways ? [outbound.gateways] : [])]
    .flatMap(({ virtualServices }) => virtualServices)
    .filter(({ hosts }) => hosts.some(names))
    .map(({ object }) => object);
  const suspected = named.length > 0 ? named : patches;
  return [...new Set<AnyConfigObject>([...suspected, ...plugins, ...destinations, ...routes])];
}

/** Of what a patch brings along, and of its type: proxies use either in their messages. */
function nameOf(value: unknown): readonly string[] {
  const { name, typed_config: typedConfig } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const { "@type": type } = (typedConfig ?? {}) as Readonly<Record<string, unknown>>;
  return [name, type].filter((one): one is string => typeof one === "string" && one !== "");
}

/** As logs and pages name them. */
export function namesOf(objects: readonly ObjectRef[]): readonly string[] {
  return objects.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`);
}
