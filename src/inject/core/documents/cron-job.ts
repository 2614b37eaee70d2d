import { annotationsOf, labelsOf } from "../context.ts";
import { asObject, type Json } from "../json.ts";
import { readPodTemplate, writePodTemplate } from "./workload-kinds.ts";

export interface CronJobTemplate {
  /** What is injected: the pod's own metadata over the job's. */
  readonly pod: Json;
  write(injected: Json): Json;
}

/** Pods of a CronJob get their metadata from the inner template: labels and annotations go there, and to the job as well. */
export function cronJobMetadata(document: Json, job: Json): CronJobTemplate {
  const inner = asObject(asObject(asObject(asObject(document.spec).jobTemplate).spec).template);
  const pod = {
    metadata: {
      ...asObject(inner.metadata),
      labels: { ...labelsOf(job), ...labelsOf(inner) },
      annotations: { ...annotationsOf(job), ...annotationsOf(inner) },
    },
    spec: inner.spec,
  };
  return {
    pod,
    write(injected) {
      const metadata = {
        ...asObject(job.metadata),
        labels: { ...labelsOf(injected), ...labelsOf(job) },
        annotations: { ...annotationsOf(injected), ...annotationsOf(job) },
      };
      const written = writePodTemplate(document, "job-template", { metadata, spec: injected.spec });
      const spec = asObject(written.spec);
      const jobTemplate = asObject(spec.jobTemplate);
      const jobSpec = asObject(jobTemplate.spec);
      const template = { metadata: injected.metadata, spec: readPodTemplate(written, "job-template")?.spec };
      return { ...written, spec: { ...spec, jobTemplate: { ...jobTemplate, spec: { ...jobSpec, template } } } };
    },
  };
}
