import { isJsonObject } from "../base/json-object.ts";
import type { PodAnswer, PodRequest } from "./core/documents/inject-document.ts";
import { applyPatch } from "./core/documents/uninject-document.ts";
import { asObject, asText, type Json } from "./core/json.ts";
import type { PatchOperation } from "./core/json-patch.ts";
import { InjectError } from "./inject-error.ts";

/** A webhook that can be called. */
export interface ReviewCall {
  /** For messages. */
  readonly name: string;
  /** The AdmissionReview that answers; rejects where there is none. */
  call(review: object): Promise<unknown>;
}

/**
 * Asks a webhook for each pod, as an API server would. Where it answers without a patch, the pod is left to the command's own decision. A pod
 * that it refuses ends the command with the reason.
 */
export function createPodAsker(
  { name, call }: ReviewCall,
  onUnpatched: (title: string) => void,
): (request: PodRequest) => Promise<PodAnswer> {
  return async (request) => {
    const sent = sentPod(request);
    const review = reviewOf(sent, request.namespace);
    const response = responseOf(await call(review), name);
    if (response.allowed !== true) {
      const message = asText(asObject(response.status).message) || "no reason is given";
      throw new InjectError("refused", `${request.title}: ${name} refuses it: ${message}`);
    }
    const patch = patchOf(response, name);
    if (patch.length === 0) {
      onUnpatched(request.title);
      return undefined;
    }
    return { pod: withoutOwner(asObject(applyPatch(sent, patch)), request), by: name };
  };
}

/** A template has no owner yet; the webhook writes who owns the pod into its environment, so that it gets the one it will have. */
function sentPod({ pod, owner, namespace, isWhole }: PodRequest): Json {
  const metadata = asObject(pod.metadata);
  const { apiVersion, kind, name } = owner;
  const ownerReferences = [{ apiVersion, kind, name, controller: true }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...(namespace !== "" && { namespace }),
      ...metadata,
      ...(!isWhole && { ownerReferences, generateName: `${name}-` }),
    },
    spec: pod.spec,
  };
}

/** What was added for the webhook is taken out again. */
function withoutOwner({ metadata, spec }: Json, { pod, isWhole }: PodRequest): Json {
  const before = asObject(pod.metadata);
  const added = ["namespace", ...(isWhole ? [] : ["ownerReferences", "generateName"])];
  const kept = Object.entries(asObject(metadata)).filter(([member]) => !added.includes(member) || member in before);
  return { ...pod, metadata: Object.fromEntries(kept), spec };
}

function reviewOf(pod: Json, namespace: string): object {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "kube-inject",
      kind: { group: "", version: "v1", kind: "Pod" },
      resource: { group: "", version: "v1", resource: "pods" },
      name: asText(asObject(pod.metadata).name),
      namespace,
      operation: "CREATE",
      // Nothing is created.
      dryRun: true,
      object: pod,
    },
  };
}

function responseOf(answer: unknown, name: string): Json {
  const { response } = asObject(answer);
  if (isJsonObject(response)) return response;
  throw new InjectError("refused", `${name} answers without a review: ${JSON.stringify(answer)?.slice(0, 200)}`);
}

const OPERATIONS = new Set(["add", "replace", "remove"]);

function patchOf({ patch }: Json, name: string): readonly PatchOperation[] {
  if (patch === undefined || patch === null || patch === "") return [];
  try {
    const operations = JSON.parse(Buffer.from(String(patch), "base64").toString("utf8")) as PatchOperation[];
    const foreign = operations.find(({ op }) => !OPERATIONS.has(op));
    if (foreign === undefined) return operations;
    throw new Error(`operation "${foreign.op}" is not known, allowed are ${[...OPERATIONS].join(", ")}`);
  } catch (failure) {
    throw new InjectError("refused", `${name} answers with a patch that cannot be used: ${String(failure)}`, {
      cause: failure,
    });
  }
}
