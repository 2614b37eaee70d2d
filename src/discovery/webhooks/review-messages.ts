import type { PodSubject, ReviewedPod, SettingsSources } from "../../inject/index.ts";
import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { ReviewedRule } from "./review-rule.ts";

/** The worker's data, by which it knows that it is meant. */
export const REVIEW_THREAD = "review-thread";

/** A review of a pod has two messages: what else counts for the pod follows from what the first one finds in the body. */
export type ToReviewThread =
  | { readonly type: "rule"; readonly body: Uint8Array }
  | { readonly type: "pod"; readonly body: Uint8Array; readonly path: string }
  | { readonly type: "circumstances"; readonly settings: NumberedSettings; readonly circumstances: SentCircumstances };

/** Settings have a number, by which the thread knows those that it has built. */
export interface NumberedSettings {
  readonly number: number;
  /** Absent where the thread has said that it has these. A problem: there are none. */
  readonly sources?: SettingsSources | { readonly problem: string };
}

export interface SentCircumstances {
  readonly namespaceAnnotations?: Readonly<Record<string, string>> | undefined;
  readonly native?: boolean | undefined;
  readonly proxyConfigs: readonly ConfigObject<"ProxyConfig">[];
  readonly rootNamespace: string;
}

export type FromReviewThread =
  /** `answer`: the body for the API server; without a review when the body held none. */
  | { readonly type: "answered"; readonly answer: string; readonly rule?: ReviewedRule; readonly pod?: ReviewedPod }
  /** `settings`: the number of those that the thread has. */
  | { readonly type: "pod-read"; readonly subject: Omit<PodSubject, "labels">; readonly settings: number | undefined }
  | { readonly type: "failed"; readonly error: string };
