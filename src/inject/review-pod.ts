import { errorCode, errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { mutatePod, type ProxyConfigOverlay } from "./core/admission/mutate-pod.ts";
import { pathEnvironment } from "./core/admission/path-environment.ts";
import { asObject, asText, isObject, type Json, textMap } from "./core/json.ts";
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

export interface PodReviewerOptions {
  /** In force at this moment. */
  readonly settings: () => InjectionSettings;
  /** Annotations of the pod's namespace, on OpenShift. */
  readonly namespaceAnnotations?: (namespace: string) => Readonly<Record<string, string>> | undefined;
  /** What ProxyConfig objects say of a workload. */
  readonly proxyConfig?: (workload: {
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  }) => ProxyConfigOverlay;
  /** Whether nodes that a pod may land on allow a native sidecar: `cluster` is that of the path, `node` of the pod, else empty. */
  readonly native?: (cluster: string, node: string) => boolean;
  readonly metrics: InjectionMetrics;
  readonly log: Logger;
}

/** Reviews of pods, as the path `/inject` gets them. Never throws. */
export function createPodReviewer(
  options: PodReviewerOptions,
): (request: PodReviewRequest, path: string) => PodVerdict {
  const { metrics, log } = options;
  return (request, path) => {
    const startedAt = performance.now();
    metrics.requests.inc();
    const pod = nameOf(request);
    try {
      const verdict = review(request, path, pod, options);
      metrics.seconds.observe((performance.now() - startedAt) / 1000);
      return verdict;
    } catch (thrown) {
      const reason = thrown instanceof InjectError ? (errorCode(thrown) ?? "") : "internal";
      const error = errorMessage(thrown);
      metrics.failure.inc([reason]);
      log.warn("pod cannot be injected", { pod, reason, error, dryRun: request.isDryRun });
      return {
        allowed: false,
        message: `the sidecar injector cannot inject pod ${pod}: ${error}; ${adviceFor(reason)}`,
      };
    }
  };
}

function review(request: PodReviewRequest, path: string, pod: string, options: PodReviewerOptions): PodVerdict {
  const { object, namespace } = request;
  if (request.kind.kind !== "Pod" && request.kind.kind !== "") {
    throw new InjectError(
      "invalid-document",
      `the review is about a ${request.kind.kind}, allowed is Pod: the webhook's rules ask for too much`,
    );
  }
  if (!isObject(object) || !isObject(object.spec)) {
    throw new InjectError("invalid-document", "the review has no pod with a spec");
  }
  const { env, ignored } = pathEnvironment(path);
  if (ignored.length > 0) options.log.warn("part of the webhook's path has no value and is ignored", { path, ignored });
  const workload = { namespace: podNamespace(object, namespace), labels: textMap(asObject(object.metadata).labels) };
  const overlay = options.proxyConfig?.(workload);
  const openshift = options.namespaceAnnotations?.(workload.namespace);
  const native = options.native?.(env.ISTIO_META_CLUSTER_ID ?? "", asText(object.spec.nodeName));
  const { decision, patch } = mutatePod(
    {
      pod: object,
      namespace,
      proxyEnv: env,
      openshift,
      ...(overlay && { proxyConfig: overlay }),
      ...(native !== undefined && { native }),
    },
    options.settings(),
  );
  const { by, reason, warnings } = decision;
  if (decision.inject) options.metrics.success.inc();
  else options.metrics.skip.inc([by]);
  if (options.log.enabled("debug") || !decision.inject) {
    const level = decision.inject ? "debug" : "info";
    options.log[level](decision.inject ? "pod is injected" : "pod is not injected", { pod, by, reason });
  }
  return { allowed: true, patch, ...(warnings.length > 0 && { warnings }) };
}

function podNamespace(pod: Json, ofRequest: string): string {
  return asText(asObject(pod.metadata).namespace) || ofRequest;
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
