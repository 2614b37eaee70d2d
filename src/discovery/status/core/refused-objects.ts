import type { AnyConfigObject, ConfigObject } from "../../../istio-api/config-object.ts";
import type { ProxyView } from "../../../mesh-model/push-snapshot.ts";

/**
 * Rule objects that a refused configuration may come from: patches, which can say anything, and rules for a host that the proxy's message
 * names.
 */
export function refusedObjects(view: Pick<ProxyView, "outbound">, message: string): readonly AnyConfigObject[] {
  const { content } = view.outbound;
  const names = (host: string) => host !== "" && message.includes(host);
  const patches = content.policies.filter(
    (policy): policy is ConfigObject<"EnvoyFilter"> => policy.kind === "EnvoyFilter",
  );
  const destinations = content.services
    .filter(({ hostname }) => names(hostname))
    .flatMap(({ key }) => content.rules.get(key)?.objects ?? []);
  const routes = [...content.egress, ...(content.gateways ? [content.gateways] : [])]
    .flatMap(({ virtualServices }) => virtualServices)
    .filter(({ hosts }) => hosts.some(names))
    .map(({ object }) => object);
  return [...new Set<AnyConfigObject>([...patches, ...destinations, ...routes])];
}
