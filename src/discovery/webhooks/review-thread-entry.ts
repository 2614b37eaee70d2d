import { isMainThread, type MessagePort, parentPort, workerData } from "node:worker_threads";
import { type AdmissionRequest, buildAnswer, type ParsedReview, parseReview } from "../../admission/index.ts";
import { errorMessage } from "../../base/coded-error.ts";
import {
  InjectError,
  type InjectionSettings,
  loadInjectionSettings,
  reviewPod,
  type SettingsSources,
  subjectOf,
} from "../../inject/index.ts";
import { proxyConfigLayers } from "./proxy-config-objects.ts";
import {
  type FromReviewThread,
  type NumberedSettings,
  REVIEW_THREAD,
  type SentCircumstances,
  type ToReviewThread,
} from "./review-messages.ts";
import { reviewRule } from "./review-rule.ts";

/** This file is a program for a worker; the bundler gives it a chunk of its own, because it is imported dynamically. */
export const REVIEW_THREAD_URL = new URL(import.meta.url);

// Workers of other programs may import this file too.
if (!isMainThread && parentPort !== null && workerData === REVIEW_THREAD) serve(parentPort);

interface PodReview {
  readonly review: ParsedReview;
  readonly request: AdmissionRequest;
  readonly path: string;
}

function serve(port: MessagePort): void {
  const settings = createBuiltSettings();
  let pod: PodReview | undefined;
  const answer = (message: ToReviewThread): FromReviewThread => {
    if (message.type === "circumstances") {
      if (pod === undefined) throw new Error("there is no pod to which the circumstances belong");
      const { request, review, path } = pod;
      pod = undefined;
      const { rules, current } = settings.use(message.settings);
      const reviewed = reviewPod(request, path, current, (subject) => ({
        namespaceAnnotations: message.circumstances.namespaceAnnotations,
        native: message.circumstances.native,
        ...(rules && { proxyConfig: layersOf(subject, message.circumstances, rules) }),
      }));
      return { type: "answered", answer: buildAnswer(review, reviewed.verdict), pod: reviewed };
    }
    const review = parseReview(
      Buffer.from(message.body.buffer, message.body.byteOffset, message.body.length).toString("utf8"),
    );
    if ("problem" in review)
      return { type: "answered", answer: buildAnswer(review, { allowed: false, message: review.problem }) };
    const { request } = review;
    if (message.type === "rule") {
      const reviewed = reviewRule(request);
      return { type: "answered", answer: buildAnswer(review, reviewed.verdict), rule: reviewed };
    }
    pod = { review, request, path: message.path };
    const { labels: _stay, ...subject } = subjectOf(request, message.path);
    return { type: "pod-read", subject, settings: settings.number() };
  };
  port.on("message", (message: ToReviewThread) => {
    try {
      port.postMessage(answer(message));
    } catch (thrown) {
      port.postMessage({ type: "failed", error: errorMessage(thrown) } satisfies FromReviewThread);
    }
  });
}

function layersOf(
  workload: Parameters<typeof proxyConfigLayers>[0],
  { proxyConfigs, rootNamespace }: SentCircumstances,
  rules: SettingsSources["proxyConfigRules"],
) {
  return proxyConfigLayers(workload, proxyConfigs, { rootNamespace, rules });
}

/** Settings are built once for as long as they are in force. */
function createBuiltSettings() {
  let built: { readonly number: number; readonly settings: InjectionSettings } | undefined;
  return {
    number: () => built?.number,
    use({ number, sources }: NumberedSettings) {
      if (sources !== undefined && "problem" in sources) {
        const { problem } = sources;
        const current = (): never => {
          throw new InjectError("invalid-settings", problem);
        };
        return { rules: undefined, current };
      }
      if (sources !== undefined) built = { number, settings: loadInjectionSettings(sources) };
      if (built?.number !== number) throw new Error("the thread has other settings than those in force");
      const { settings } = built;
      return { rules: settings.proxyConfigRules, current: () => settings };
    },
  };
}
