export { buildInjectionSettings } from "./core/build-settings.ts";
export { injectText } from "./core/documents/inject-text.ts";
export { skipWarnings } from "./core/documents/skip-warnings.ts";
export { uninjectText } from "./core/documents/uninject-text.ts";
export { detectNativeSidecar, parseNativeSidecarMode } from "./core/native-sidecar.ts";
export { readInjectConfig } from "./core/read-config.ts";
export { INJECTION_RULES } from "./core/rules.ts";
export type { InjectionSettings } from "./core/settings.ts";
export { InjectError } from "./inject-error.ts";
