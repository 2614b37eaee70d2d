export { createPodAsker, type ReviewCall } from "./ask-webhook.ts";
export { buildInjectionSettings } from "./core/build-settings.ts";
export {
  buildWebhookConfiguration,
  type WebhookConfigurationOptions,
} from "./core/configuration/webhook-configuration.ts";
export { type InjectedText, injectText, injectTextWith } from "./core/documents/inject-text.ts";
export { skipWarnings } from "./core/documents/skip-warnings.ts";
export { uninjectText } from "./core/documents/uninject-text.ts";
export {
  type InjectionTexts,
  loadInjectionSettings,
  type SettingsSources,
  type SourceText,
} from "./core/load-settings.ts";
export { detectNativeSidecar, type NativeSidecarMode, parseNativeSidecarMode } from "./core/native-sidecar.ts";
export { readInjectConfig } from "./core/read-config.ts";
export { INJECTION_RULES, type InjectionRules } from "./core/rules.ts";
export type { InjectionSettings } from "./core/settings.ts";
export { InjectError } from "./inject-error.ts";
export { declareInjectionMetrics } from "./metrics.ts";
export {
  type PodCircumstances,
  type PodSubject,
  type ReviewedPod,
  recordReview,
  reviewPod,
  subjectOf,
} from "./review-pod.ts";
