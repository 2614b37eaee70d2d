import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { ConfigSnapshot } from "../config-store.ts";
import type { ServiceTarget } from "../endpoint.ts";
import type { GatewayContent, ScopeTraits } from "../push-snapshot.ts";
import { selects } from "../selector.ts";
import type { SnapshotParts } from "../snapshot-parts.ts";

type Gateway = ConfigObject<"Gateway">;

/** What a router listens for, and the rules that are bound to it. Undefined for sidecars. */
export function gatewayContent(
  { type, namespace, labels }: Pick<ScopeTraits, "type" | "namespace" | "labels">,
  { configs, virtualServices }: Pick<SnapshotParts, "configs" | "virtualServices">,
): GatewayContent | undefined {
  if (type !== "router") return undefined;
  const gateways = configs.list("Gateway").filter(({ spec }) => selects(spec.selector, labels));
  const names = new Set(gateways.map(gatewayName));
  const rules = virtualServices
    .gatewayRules(namespace)
    .filter(({ spec }) => spec.gateways.some((name) => names.has(name)));
  return Object.freeze({ gateways, virtualServices: rules });
}

/** As VirtualServices call it. */
export function gatewayName({ namespace, name }: Pick<Gateway, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** Labels by which Gateways choose their routers. */
export function gatewayLabels(configs: Pick<ConfigSnapshot, "list">): readonly string[] {
  return configs.list("Gateway").flatMap(({ spec }) => Object.keys(spec.selector));
}

/** Behind which ports of their services routers really listen, in order. */
export function routerPorts(targets: readonly ServiceTarget[]): NonNullable<ScopeTraits["routerPorts"]> {
  const byPort = new Map<number, Set<number>>();
  for (const { port, targetPort } of targets) {
    byPort.set(port.port, (byPort.get(port.port) ?? new Set()).add(targetPort));
  }
  const ascending = (a: number, b: number) => a - b;
  return [...byPort]
    .sort(([a], [b]) => ascending(a, b))
    .map(([port, real]) => ({ port, listensOn: [...real].sort(ascending) }));
}
