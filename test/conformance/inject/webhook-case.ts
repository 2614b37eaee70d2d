import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseGoYaml } from "../../../src/files/yaml/parse-go-yaml.ts";
import { mutatePod } from "../../../src/inject/core/admission/mutate-pod.ts";
import { splitText } from "../../../src/inject/core/documents/split-text.ts";
import { applyPatch } from "../../../src/inject/core/documents/uninject-document.ts";
import { isList, readPodTemplate, workloadPlace } from "../../../src/inject/core/documents/workload-kinds.ts";
import { asList, asObject, asText, type Json } from "../../../src/inject/core/json.ts";
import { normalize } from "../../../src/inject/core/schema/normalize.ts";
import { type InjectCase, type InjectDefaults, settingsOf } from "./inject-case.ts";

/** Each workload as the pod that its controller would make, sent to the webhook; the patch must give the expected pod. */
export async function webhookDifference(
  dir: string,
  entry: InjectCase,
  defaults: InjectDefaults,
): Promise<string | undefined> {
  const settings = await settingsOf(dir, entry, defaults, defaults.revision_webhook);
  const inputs = workloads(await readFile(join(dir, entry.input), "utf8"));
  const expected = workloads(await readFile(join(dir, entry.expected ?? ""), "utf8"));
  for (const [index, input] of inputs.entries()) {
    const pod = toPod(input);
    const { patch } = mutatePod(
      {
        pod,
        namespace: asText(asObject(input.metadata).namespace),
        proxyEnv: {},
        openshift: entry.env?.PLATFORM === "openshift" ? (entry.namespace_object?.annotations ?? {}) : undefined,
      },
      settings,
    );
    const result = comparable(applyPatch(pod, patch) as Json);
    const wanted = comparable(toPod(expected[index] ?? {}));
    const difference = firstDifference(wanted, result, "");
    if (difference !== undefined) return `object ${index + 1}: ${difference}`;
  }
  return inputs.length === expected.length ? undefined : `expected ${expected.length} workloads, got ${inputs.length}`;
}

function workloads(text: string): readonly Json[] {
  const documents = splitText(text).map(parseGoYaml);
  const all = documents.flatMap((document) => (isList(document) ? asList(document.items) : [document]));
  return all.filter((document) => workloadPlace(document) !== undefined).map(asObject);
}

function toPod(workload: Json): Json {
  const place = workloadPlace(workload);
  const template = asObject(place === undefined ? undefined : readPodTemplate(workload, place));
  if (place === "self") return { apiVersion: "v1", kind: "Pod", ...template };
  const name = asText(asObject(workload.metadata).name);
  const isDeployment = workload.kind === "Deployment";
  const metadata = asObject(template.metadata);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...metadata,
      generateName: isDeployment ? `${name}-` : name,
      ...(isDeployment && { labels: { ...asObject(metadata.labels), "pod-template-hash": "fake" } }),
      ownerReferences: [
        {
          apiVersion: workload.apiVersion,
          kind: isDeployment ? "ReplicaSet" : workload.kind,
          name: isDeployment ? `${name}-fake` : name,
          controller: true,
        },
      ],
    },
    spec: template.spec,
  };
}

/** In the API's form, without what the reference's comparison leaves out. */
function comparable(pod: Json): Json {
  const typed = normalize("PodTemplateSpec", { metadata: pod.metadata, spec: pod.spec });
  const { "sidecar.istio.io/status": _status, ...annotations } = asObject(asObject(typed.metadata).annotations);
  return normalize("PodTemplateSpec", {
    ...typed,
    metadata: { ...asObject(typed.metadata), creationTimestamp: undefined, annotations },
  });
}

function firstDifference(expected: unknown, actual: unknown, path: string): string | undefined {
  if (isDeepStrictEqual(expected, actual)) return undefined;
  const isBranch = (value: unknown): value is Json => typeof value === "object" && value !== null;
  if (isBranch(expected) && isBranch(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const difference = firstDifference(expected[key], actual[key], `${path}.${key}`);
      if (difference !== undefined) return difference;
    }
  }
  return `${path}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
}
