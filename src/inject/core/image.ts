import { annotationsOf, type TemplateContext } from "./context.ts";
import type { Json } from "./json.ts";
import type { Values } from "./values.ts";

const KNOWN_TYPES = ["distroless", "debug"];

/** The image of the proxy, or of the init container, which the ProxyConfig has no word in. */
export function proxyImage(
  values: Values,
  kind: "proxy" | "proxy_init",
  configured: string,
  annotation?: string,
): string {
  const name = values.text(`global.${kind}.image`) || "proxyv2";
  const type = annotation ?? (configured || values.text("global.variant"));
  return `${values.text("global.hub")}/${name}:${typedTag(values.text("global.tag"), type)}`;
}

function typedTag(tag: string, type: string): string {
  if (type === "") return tag;
  const known = KNOWN_TYPES.find((candidate) => tag.endsWith(`-${candidate}`));
  const bare = known === undefined ? tag : tag.slice(0, -(known.length + 1));
  return type === "default" ? bare : `${bare}-${type}`;
}

export function imagesOf(
  pod: Json,
  values: Values,
  configured: string,
): { readonly proxy: string; readonly init: string } {
  const type = annotationsOf(pod)["sidecar.istio.io/proxyImageType"];
  return { proxy: proxyImage(values, "proxy", configured, type), init: proxyImage(values, "proxy_init", "", type) };
}

/** A whole reference in annotation or value wins over the composed one. */
export function containerImage(context: TemplateContext, kind: "proxy" | "proxy_init"): string {
  const given =
    annotationsOf(context.pod)["sidecar.istio.io/proxyImage"] ?? context.values.text(`global.${kind}.image`);
  if (given.includes("/")) return given;
  const images = imagesOf(context.pod, context.values, context.proxyConfig.image?.imageType ?? "");
  return kind === "proxy" ? images.proxy : images.init;
}
