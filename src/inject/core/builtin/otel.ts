import type { MeshConfig } from "../../../istio-api/mesh-config/mesh-config.ts";
import { asText, type Json } from "../json.ts";

const PREFIX = "resource.opentelemetry.io/";

/** OTEL_RESOURCE_ATTRIBUTES by OpenTelemetry's conventions for Kubernetes; empty unless a provider of the mesh asks for them. */
export function otelResourceAttributes(
  mesh: MeshConfig,
  annotations: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
  namespace: string,
  containers: readonly Json[],
): string {
  const providers = mesh.extensionProviders ?? [];
  const isWanted = providers.some(
    ({ opentelemetry }) => opentelemetry?.serviceAttributeEnrichment === "OTEL_SEMANTIC_CONVENTIONS",
  );
  if (!isWanted) return "";
  const [first] = containers;
  // The pod's name is not known yet: the kubelet fills it in.
  const instance = first === undefined ? "" : `${namespace}.$(POD_NAME).${asText(first.name)}`;
  const version =
    labels["app.kubernetes.io/version"] || (containers.length === 1 ? imageVersion(asText(first?.image)) : "");
  return Object.entries({
    "service.namespace": annotations[`${PREFIX}service.namespace`] || namespace,
    "service.version": annotations[`${PREFIX}service.version`] || version,
    "service.instance.id": annotations[`${PREFIX}service.instance.id`] || instance,
  })
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

/** Tag, digest or both of `[registry[:port]/]name[:tag][@digest]`. */
function imageVersion(image: string): string {
  const [reference = "", digest = ""] = image.split("@", 2);
  const tag = /:([^:/]*)$/.exec(reference)?.[1] ?? "";
  return tag !== "" && digest !== "" ? `${tag}@${digest}` : digest || tag;
}
