import type { Metadata } from "../../protobuf/gen/envoy/config/core/v3.ts";

/** The rule that a resource comes from, where istioctl and `mesh proxy-config` look for it. */
export function originMetadata(
  kind: "destination-rule" | "virtual-service",
  { namespace, name }: { readonly namespace: string; readonly name: string },
): NonNullable<Metadata["filterMetadata"]> {
  return { istio: { config: `/apis/networking.istio.io/v1/namespaces/${namespace}/${kind}/${name}` } };
}
