import { isJsonObject } from "../../../base/json-object.ts";
import { asObject, asText, type Json } from "../json.ts";

/** Where a kind has its pod template. `job-template`: metadata of the job template, spec of the template in it. */
export type TemplatePlace = "self" | "template" | "job-template";

interface WorkloadKind {
  readonly groups: readonly string[];
  readonly place: TemplatePlace;
}

const APPS: WorkloadKind = { groups: ["", "apps", "extensions"], place: "template" };
const KINDS: Readonly<Record<string, WorkloadKind>> = {
  Pod: { groups: [""], place: "self" },
  ReplicationController: { groups: [""], place: "template" },
  Deployment: APPS,
  DaemonSet: APPS,
  ReplicaSet: APPS,
  StatefulSet: APPS,
  Job: { groups: ["", "batch"], place: "template" },
  CronJob: { groups: ["", "batch"], place: "job-template" },
  DeploymentConfig: { groups: ["", "apps.openshift.io"], place: "template" },
};

/** How the pod template of an object is found; undefined for what is not a workload. The same kind of another API group is not ours. */
export function workloadPlace(document: unknown): TemplatePlace | undefined {
  if (!isJsonObject(document)) return undefined;
  const kind = asText(document.kind);
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  const version = asText(document.apiVersion);
  const group = version.includes("/") ? version.slice(0, version.indexOf("/")) : "";
  return known?.groups.includes(group) ? known.place : undefined;
}

export function isList(document: unknown): document is Json {
  return isJsonObject(document) && document.kind === "List" && !asText(document.apiVersion).includes("/");
}

/** Metadata and spec of the pods that a workload makes. Undefined where the template is missing. */
export function readPodTemplate(document: Json, place: TemplatePlace): Json | undefined {
  if (place === "self") return { metadata: document.metadata, spec: document.spec };
  const spec = asObject(document.spec);
  if (place === "template") return isJsonObject(spec.template) ? spec.template : undefined;
  const job = asObject(spec.jobTemplate);
  return { metadata: job.metadata, spec: asObject(asObject(job.spec).template).spec };
}

export function writePodTemplate(document: Json, place: TemplatePlace, pod: Json): Json {
  if (place === "self") return { ...document, metadata: pod.metadata, spec: pod.spec };
  const spec = asObject(document.spec);
  if (place === "template") return { ...document, spec: { ...spec, template: { ...asObject(spec.template), ...pod } } };
  const job = asObject(spec.jobTemplate);
  const inner = asObject(job.spec);
  const template = { ...asObject(inner.template), spec: pod.spec };
  return {
    ...document,
    spec: { ...spec, jobTemplate: { ...job, metadata: pod.metadata, spec: { ...inner, template } } },
  };
}
