import { InjectError } from "../../inject-error.ts";
import { annotationsOf, PROXY_CONTAINER, type TemplateContext } from "../context.ts";
import { asList, asObject, type Json } from "../json.ts";
import { isNative } from "../native-sidecar.ts";
import type { Normalizer } from "../schema/normalize.ts";
import type { InjectionSettings } from "../settings.ts";
import { strategicMerge } from "../strategic-merge.ts";
import { containersOf, findContainer, withSpec } from "./containers.ts";

/** A pod here is what a pod template is: metadata and spec. */
const POD = "PodTemplateSpec";

export interface Rendered {
  /** The pod with the templates merged over it. */
  readonly merged: Json;
  /** What the templates alone define, for its names: not in the API's form. */
  readonly templatePod: Json;
}

/** Renders the templates the pod asks for, in order, and merges each over the pod. */
export function renderTemplates(
  pod: Json,
  context: TemplateContext,
  settings: InjectionSettings,
  normalize: Normalizer,
): Rendered {
  const native = isNative(annotationsOf(pod)["sidecar.istio.io/nativeSidecar"], context.native, context.rules);
  let merged = pod;
  let templatePod: Json = {};
  for (const name of selectTemplates(pod, settings)) {
    const template = settings.templates.get(name);
    if (template === undefined) {
      const known = [...settings.templates.keys()].sort().join(", ");
      throw new InjectError("unknown-template", `requested template "${name}" not found; have ${known}`);
    }
    const partial = template(context);
    templatePod = strategicMerge(POD, templatePod, partial);
    if (native && findContainer(containersOf(templatePod, "initContainers"), PROXY_CONTAINER))
      merged = moveProxy(merged);
    merged = mergePod(merged, partial, normalize);
  }
  return { merged, templatePod };
}

/** Merges a partial pod over another and gives it the API's form. */
export function mergePod(pod: Json, partial: Json, normalize: Normalizer): Json {
  return normalize(POD, strategicMerge(POD, pod, partial));
}

function selectTemplates(pod: Json, { defaultTemplates, aliases }: InjectionSettings): readonly string[] {
  const asked = annotationsOf(pod)["inject.istio.io/templates"];
  const names = asked === undefined ? defaultTemplates : asked.split(",").map((name) => name.trim());
  return names.flatMap((name) => (Object.hasOwn(aliases, name) ? (aliases[name] ?? []) : [name]));
}

/** Users customize istio-proxy under `containers`; a native one is an init container. */
function moveProxy(pod: Json): Json {
  const proxy = findContainer(containersOf(pod, "containers"), PROXY_CONTAINER);
  if (proxy === undefined) return pod;
  return withSpec(pod, {
    containers: containersOf(pod, "containers").filter((container) => container !== proxy),
    initContainers: [...asList(asObject(pod.spec).initContainers), proxy],
  });
}
