import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { ConfigSnapshot } from "../config-store.ts";
import type { ProxyNode } from "../proxy/proxy-node.ts";
import { selects } from "../selector.ts";

/**
 * The oldest of the proxy's namespace that selects it, else the oldest there that selects everybody, else the oldest such of the root
 * namespace. Gateways have none.
 */
export function selectSidecar(
  configs: Pick<ConfigSnapshot, "list">,
  rootNamespace: string,
  { type, namespace, labels }: Pick<ProxyNode, "type" | "namespace" | "labels">,
): ConfigObject<"Sidecar"> | undefined {
  if (type === "router") return undefined;
  const own = configs.list("Sidecar", namespace);
  return (
    own.find((sidecar) => !isForAll(sidecar) && selects(sidecar.spec.workloadSelector?.labels ?? {}, labels)) ??
    own.find(isForAll) ??
    configs.list("Sidecar", rootNamespace).find(isForAll)
  );
}

function isForAll({ spec }: ConfigObject<"Sidecar">): boolean {
  return Object.keys(spec.workloadSelector?.labels ?? {}).length === 0;
}
