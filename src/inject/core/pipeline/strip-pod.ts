import { isJsonObject } from "../../../base/json-object.ts";
import { InjectError } from "../../inject-error.ts";
import { annotationsOf } from "../context.ts";
import { type Json, objects } from "../json.ts";
import { containersOf, findContainer, withAnnotations, withSpec } from "./containers.ts";
import { readStatus, STATUS_ANNOTATION } from "./injection-status.ts";
import { isMergedMetricsPort, withoutMetricsAnnotations } from "./metrics-annotations.ts";

export const OVERRIDES_ANNOTATION = "proxy.istio.io/overrides";

/** Containers of the user that a template defines too, as an earlier injection recorded them. */
export interface Overrides {
  readonly containers: readonly Json[];
  readonly initContainers: readonly Json[];
}

/** What the templates see: the pod without what an earlier injection added, with the user's own containers back in it. */
export function stripPod(pod: Json, statusPort: number): Json {
  const status = readStatus(pod);
  const stripped = status === undefined ? pod : withoutInjected(pod, status, statusPort);
  const overrides = readOverrides(stripped);
  const restored = (list: "containers" | "initContainers") => {
    const present = containersOf(stripped, list);
    const missing = overrides[list].filter(({ name }) => findContainer(present, String(name)) === undefined);
    return missing.length === 0 ? {} : { [list]: [...present, ...missing] };
  };
  return withSpec(stripped, { ...restored("containers"), ...restored("initContainers") });
}

function withoutInjected(
  pod: Json,
  status: { readonly containers: readonly string[]; readonly initContainers: readonly string[] },
  statusPort: number,
): Json {
  const rest = (list: "containers" | "initContainers") =>
    containersOf(pod, list).filter(({ name }) => !status[list].includes(String(name)));
  const { [STATUS_ANNOTATION]: _status, ...others } = annotationsOf(pod);
  const annotations = isMergedMetricsPort(others, statusPort) ? withoutMetricsAnnotations(others) : others;
  const stripped = withSpec(pod, { containers: rest("containers"), initContainers: rest("initContainers") });
  return withAnnotations(stripped, annotations);
}

export function readOverrides(pod: Json): Overrides {
  const text = annotationsOf(pod)[OVERRIDES_ANNOTATION];
  if (text === undefined) return { containers: [], initContainers: [] };
  try {
    const parsed: unknown = JSON.parse(text);
    if (isJsonObject(parsed)) {
      return { containers: objects(parsed.containers), initContainers: objects(parsed.initContainers) };
    }
  } catch {
    // Reported below, with what is allowed.
  }
  throw new InjectError(
    "invalid-annotation",
    `invalid value '${text}' for annotation '${OVERRIDES_ANNOTATION}': allowed is a JSON object with containers and initContainers`,
  );
}
