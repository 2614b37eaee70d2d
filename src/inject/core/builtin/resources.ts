import { isJsonObject } from "../../../base/json-object.ts";
import { annotationsOf, type TemplateContext } from "../context.ts";
import type { Json } from "../json.ts";

const ANNOTATIONS = [
  ["requests", "cpu", "sidecar.istio.io/proxyCPU"],
  ["requests", "memory", "sidecar.istio.io/proxyMemory"],
  ["limits", "cpu", "sidecar.istio.io/proxyCPULimit"],
  ["limits", "memory", "sidecar.istio.io/proxyMemoryLimit"],
] as const;

/** One annotation is enough for the values to have no say; null values count as absent. */
export function proxyResources({ pod, values }: TemplateContext): Json {
  const annotations = annotationsOf(pod);
  const given = ANNOTATIONS.filter(([, , name]) => annotations[name] !== undefined);
  if (given.length === 0) return (withoutNulls(values.get("global.proxy.resources")) ?? {}) as Json;
  const resources: Record<string, Record<string, string | undefined>> = {};
  for (const [group, resource, name] of given)
    resources[group] = { ...resources[group], [resource]: annotations[name] };
  return resources;
}

/** A map from which a null was taken and that is empty then is gone too. */
export function withoutNulls(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (Array.isArray(value)) return value.map(withoutNulls).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, withoutNulls(member)] as const);
  const present = entries.filter(([, member]) => member !== undefined);
  return present.length === 0 && entries.length > 0 ? undefined : Object.fromEntries(present);
}
