import { errorCode, errorMessage } from "../base/coded-error.ts";
import { isJsonObject } from "../base/json-object.ts";
import type { Logger } from "../base/logger.ts";
import { mutatePod, type ProxyConfigOverlay } from "./core/admission/mutate-pod.ts";
import { pathEnvironment } from "./core/admission/path-environment.ts";
import { asObject, asText, type Json, textMap } from "./core/json.ts";
import type { InjectionSettings } from "./core/settings.ts";
import { InjectError } from "./inject-error.ts";
import type { InjectionMetrics } from "./metrics.ts";

/** What is needed of an admission request. */
export interface PodReviewRequest {
  readonly kind: { readonly kind: string };
  readonly namespace: string;
  readonly object: unknown;
  readonly isDryRun: boolean;
}

export type PodVerdict =
  | { readonly allowed: true; readonly patch?: readonly object[]; readonly warnings?: readonly string[] }
  | { readonly allowed: false; readonly message: string };

/** What the circumstances of a pod follow from. */
export interface PodSubject {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Of the webhook's path. */
  readonly cluster: string;
  /** Empty while the pod has none. */
  readonly node: string;
}

export interface PodCircumstances {
  /** Annotations of the pod's namespace, on OpenShift. */
  readonly namespaceAnnotations?: Readonly<Record<string, string>> | undefined;
  /** What ProxyConfig objects say of the workload. */
  readonly proxyConfig?: ProxyConfigOverlay;
  /** Whether nodes that the pod may land on allow a native sidecar. */
  readonly native?: boolean | undefined;
}

/** A verdict, and what log and metrics say of it: plain data, so that another thread can come to it. */
export interface ReviewedPod {
  readonly verdict: PodVerdict;
  readonly pod: string;
  readonly isDryRun: boolean;
  readonly outcome:
    | { readonly type: "injected" | "skipped"; readonly by: string; readonly reason: string }
    | { readonly type: "failed"; readonly reason: string; readonly error: string };
  /** Parts of the webhook's path without a value. */
  readonly ignored: readonly string[];
  readonly seconds: number;
}

/** Reviews a pod, as the path `/inject` gets it. Never throws. */
export function reviewPod(
  request: PodReviewRequest,
  path: string,
  settings: () => InjectionSettings,
  circumstances: (subject: PodSubject) => PodCircumstances,
): ReviewedPod {
  const startedAt = performance.now();
  const pod = nameOf(request);
  const { env, ignored } = pathEnvironment(path);
  const common = { pod, ignored, isDryRun: request.isDryRun };
  const seconds = () => (performance.now() - startedAt) / 1000;
  try {
    const object = podOf(request);
    const { namespaceAnnotations, proxyConfig, native } = circumstances(subjectOf(request, path));
    const { decision, patch } = mutatePod(
      {
        pod: object,
        namespace: request.namespace,
        proxyEnv: env,
        openshift: namespaceAnnotations,
        ...(proxyConfig && { proxyConfig }),
        ...(native !== undefined && { native }),
      },
      settings(),
    );
    const { inject, by, reason, warnings } = decision;
    return {
      ...common,
      verdict: { allowed: true, patch, ...(warnings.length > 0 && { warnings }) },
      outcome: { type: inject ? "injected" : "skipped", by, reason },
      seconds: seconds(),
    };
  } catch (thrown) {
    const reason = thrown instanceof InjectError ? (errorCode(thrown) ?? "") : "internal";
    const error = errorMessage(thrown);
    const message = `the sidecar injector cannot inject pod ${pod}: ${error}; ${adviceFor(reason)}`;
    return {
      ...common,
      verdict: { allowed: false, message },
      outcome: { type: "failed", reason, error },
      seconds: seconds(),
    };
  }
}

/** Writes down what came of a review, whichever thread it was made in. */
export function recordReview(
  { pod, isDryRun, outcome, ignored, seconds }: ReviewedPod,
  { metrics, log }: { readonly metrics: InjectionMetrics; readonly log: Logger },
): void {
  metrics.requests.inc();
  if (ignored.length > 0) log.warn("part of the webhook's path has no value and is ignored", { ignored });
  if (outcome.type === "failed") {
    const { reason, error } = outcome;
    metrics.failure.inc([reason]);
    log.warn("pod cannot be injected", { pod, reason, error, dryRun: isDryRun });
    return;
  }
  metrics.seconds.observe(seconds);
  const { by, reason } = outcome;
  if (outcome.type === "injected") {
    metrics.success.inc();
    log.debug("pod is injected", { pod, by, reason });
  } else {
    metrics.skip.inc([by]);
    log.info("pod is not injected", { pod, by, reason });
  }
}

/** What has to be found out about the pod of a review that may be no good. */
export function subjectOf({ object, namespace }: PodReviewRequest, path: string): PodSubject {
  const { metadata, spec } = asObject(object);
  return {
    namespace: asText(asObject(metadata).namespace) || namespace,
    labels: textMap(asObject(metadata).labels),
    cluster: pathEnvironment(path).env.ISTIO_META_CLUSTER_ID ?? "",
    node: asText(asObject(spec).nodeName),
  };
}

function podOf({ kind: { kind }, object }: PodReviewRequest): Json {
  if (kind !== "Pod" && kind !== "") {
    throw new InjectError(
      "invalid-document",
      `the review is about a ${kind}, allowed is Pod: the webhook's rules ask for too much`,
    );
  }
  if (!isJsonObject(object) || !isJsonObject(object.spec)) {
    throw new InjectError("invalid-document", "the review has no pod with a spec");
  }
  return object;
}

/** Pods of controllers have no name yet, but the beginning of one. */
function nameOf({ object, namespace }: PodReviewRequest): string {
  const metadata = asObject(asObject(object).metadata);
  const name = asText(metadata.name) || `${asText(metadata.generateName)}***`;
  return `${asText(metadata.namespace) || namespace}/${name}`;
}

/** What the reader of the message can do. */
function adviceFor(reason: string): string {
  const without = `to create the pod without a proxy, set its label sidecar.istio.io/inject: "false"`;
  switch (reason) {
    case "invalid-annotation":
      return `correct the annotation; ${without}`;
    case "invalid-document":
      return "correct the object, or the rules of the MutatingWebhookConfiguration";
    case "unknown-template":
      return `correct the annotation inject.istio.io/templates; ${without}`;
    default:
      return `templates and values are in the ConfigMap istio-sidecar-injector; ${without}`;
  }
}
