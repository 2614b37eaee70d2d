import { isJsonObject } from "../../../base/json-object.ts";
import { annotationsOf } from "../context.ts";
import { asList, asObject, asText, goJson, type Json, objects } from "../json.ts";

export const STATUS_ANNOTATION = "sidecar.istio.io/status";

/** The names an earlier injection recorded. */
export interface InjectionStatus {
  readonly initContainers: readonly string[];
  readonly containers: readonly string[];
  readonly volumes: readonly string[];
  readonly imagePullSecrets: readonly string[];
}

/** Undefined for a pod that was never injected; a record that cannot be read lists nothing. */
export function readStatus(pod: Json): InjectionStatus | undefined {
  const text = annotationsOf(pod)[STATUS_ANNOTATION];
  if (text === undefined) return undefined;
  const record = parseRecord(text);
  const names = (key: string) => asList(record[key]).filter((name) => typeof name === "string");
  return {
    initContainers: names("initContainers"),
    containers: names("containers"),
    volumes: names("volumes"),
    imagePullSecrets: names("imagePullSecrets"),
  };
}

function parseRecord(text: string): Json {
  try {
    const parsed: unknown = JSON.parse(text);
    return isJsonObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

/** What the template pod has, by name; empty lists are null. */
export function statusText(templatePod: Json, more: Json): string {
  const spec = asObject(templatePod.spec);
  const names = (key: string): readonly string[] | null => {
    const list = objects(spec[key]).map(({ name }) => asText(name));
    return list.length === 0 ? null : list;
  };
  return goJson({
    initContainers: names("initContainers"),
    containers: names("containers"),
    volumes: names("volumes"),
    imagePullSecrets: names("imagePullSecrets"),
    ...more,
  });
}
