export { captureBanner } from "./core/banner.ts";
export { buildRules } from "./core/build-rules.ts";
export { checkSettings } from "./core/check-settings.ts";
export { cleanCommands } from "./core/clean-commands.ts";
export { configJson } from "./core/config-json.ts";
export { deriveSettings, type MachineFacts } from "./core/derive-settings.ts";
export { dryRun } from "./core/dry-run.ts";
export {
  type CaptureGeneration,
  type CaptureOptions,
  type CaptureSettings,
  DEFAULT_OPTIONS,
  DEFAULT_SETTINGS,
} from "./core/settings.ts";
