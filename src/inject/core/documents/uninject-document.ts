import { InjectError } from "../../inject-error.ts";
import { annotationsOf } from "../context.ts";
import { asObject, asText, type Json } from "../json.ts";
import { createPatch, type PatchOperation } from "../json-patch.ts";
import { withAnnotations } from "../pipeline/containers.ts";
import { readStatus } from "../pipeline/injection-status.ts";
import { normalize } from "../schema/normalize.ts";
import { uninjectPod } from "./uninject-pod.ts";
import { readPodTemplate, type TemplatePlace, workloadPlace, writePodTemplate } from "./workload-kinds.ts";

/** How the original differs from what the injected object alone shows; present only where it does. */
const RESTORE_ANNOTATION = "inject.pilot-agent.io/restore";

/** The object as it was before injection; undefined for what is not an injected workload. */
export function uninjectDocument(document: unknown): Json | undefined {
  const place = workloadPlace(document);
  if (place === undefined) return undefined;
  const kind = asText((document as Json).kind);
  const printed = normalize(kind, document);
  const pod = podOf(printed, place);
  if (pod === undefined || readStatus(pod) === undefined) return undefined;
  const restore = annotationsOf(pod)[RESTORE_ANNOTATION];
  const ruled = uninjectByRules(printed, place, pod);
  return restore === undefined ? ruled : normalize(kind, applyPatch(ruled, parsedPatch(restore)));
}

/** Adds the record that makes `uninjectDocument` exact, where looking at the object is not enough. */
export function withRestoreRecord(injected: Json, original: Json): Json {
  const place = workloadPlace(injected);
  const pod = place === undefined ? undefined : podOf(injected, place);
  if (place === undefined || pod === undefined) return injected;
  const kind = asText(injected.kind);
  const patch = createPatch(uninjectByRules(normalize(kind, injected), place, pod), normalize(kind, original));
  if (patch.length === 0) return injected;
  const recorded = withAnnotations(pod, { ...annotationsOf(pod), [RESTORE_ANNOTATION]: JSON.stringify(patch) });
  return writePod(injected, place, recorded);
}

function uninjectByRules(document: Json, place: TemplatePlace, pod: Json): Json {
  const { [RESTORE_ANNOTATION]: _record, ...annotations } = annotationsOf(pod);
  const restored = uninjectPod(withAnnotations(pod, annotations));
  return normalize(asText(document.kind), writePod(document, place, restored));
}

/** Pods of a CronJob: its own template where that has the record, else the job's metadata, as the reference writes it. */
function podOf(document: Json, place: TemplatePlace): Json | undefined {
  const template = readPodTemplate(document, place);
  if (place !== "job-template") return template;
  const inner = innerTemplate(document);
  return readStatus(inner) === undefined ? template : inner;
}

function writePod(document: Json, place: TemplatePlace, pod: Json): Json {
  if (place !== "job-template" || readStatus(innerTemplate(document)) === undefined) {
    return writePodTemplate(document, place, pod);
  }
  const spec = asObject(document.spec);
  const job = asObject(spec.jobTemplate);
  return {
    ...document,
    spec: { ...spec, jobTemplate: { ...job, spec: { ...asObject(job.spec), template: pod } } },
  };
}

function innerTemplate(document: Json): Json {
  return asObject(asObject(asObject(asObject(document.spec).jobTemplate).spec).template);
}

function parsedPatch(text: string): readonly PatchOperation[] {
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed)) return parsed as readonly PatchOperation[];
  } catch {
    // Reported below, with what is allowed.
  }
  throw new InjectError(
    "invalid-annotation",
    `invalid value '${text}' for annotation '${RESTORE_ANNOTATION}': allowed is a JSON patch`,
  );
}

type Container = Record<string, unknown> & unknown[];

/** RFC 6902 as an API server applies it: rejects an operation whose target is not there. */
export function applyPatch(document: unknown, operations: readonly PatchOperation[]): unknown {
  const root = { "": structuredClone(document) } as unknown as Container;
  for (const operation of operations) {
    const parts = operation.path.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = parts.pop() ?? "";
    let target = root;
    for (const part of parts) {
      if (!Object.hasOwn(target, part)) throw new Error(`no ${operation.path}`);
      target = target[part as never] as Container;
    }
    if (operation.op !== "add" && !Object.hasOwn(target, last)) throw new Error(`no ${operation.path}`);
    if (operation.op === "add" && Array.isArray(target) && Number(last) > target.length)
      throw new Error(`no ${operation.path}`);
    if (Array.isArray(target)) {
      const at = last === "-" ? target.length : Number(last);
      if (operation.op === "add") target.splice(at, 0, structuredClone(operation.value));
      else if (operation.op === "remove") target.splice(at, 1);
      else target[at] = structuredClone(operation.value);
    } else if (operation.op === "remove") delete target[last];
    else (target as Record<string, unknown>)[last] = structuredClone(operation.value);
  }
  return root["" as never];
}
