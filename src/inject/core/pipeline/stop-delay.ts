import { InjectError } from "../../inject-error.ts";
import { annotationsOf, PROXY_CONTAINER } from "../context.ts";
import { asObject, type Json } from "../json.ts";
import { containersOf, withSpec } from "./containers.ts";

const ANNOTATION = "inject.pilot-agent.io/application-stop-delay";
/** Of Kubernetes, for pods that say nothing. */
const GRACE_SECONDS = 30;

/**
 * Callers learn a moment later than the kubelet that a pod goes. An application that ends at once on SIGTERM refuses what they send until
 * then, which the proxy in front of it can only answer with 503. Where the annotation asks for it, applications without a hook of their own
 * get their signal so much later.
 */
export function delayApplicationStop(pod: Json): Json {
  const text = annotationsOf(pod)[ANNOTATION];
  if (text === undefined || text === "") return pod;
  const seconds = secondsOf(text, asObject(pod.spec).terminationGracePeriodSeconds);
  const containers = containersOf(pod, "containers").map((container) => {
    const lifecycle = asObject(container.lifecycle);
    if (container.name === PROXY_CONTAINER || lifecycle.preStop !== undefined) return container;
    return { ...container, lifecycle: { ...lifecycle, preStop: { sleep: { seconds } } } };
  });
  return withSpec(pod, { containers });
}

function secondsOf(text: string, grace: unknown): number {
  const [, digits] = /^(\d{1,6})s?$/.exec(text) ?? [];
  const seconds = Number(digits ?? 0);
  const limit = typeof grace === "number" ? grace : GRACE_SECONDS;
  if (seconds > 0 && seconds < limit) return seconds;
  throw new InjectError(
    "invalid-annotation",
    `invalid value '${text}' for annotation '${ANNOTATION}': allowed are whole seconds such as 5s, fewer than the pod's grace period (${limit}s)`,
  );
}
