export { buildRules } from "./core/build-rules.ts";
export { checkSettings } from "./core/check-settings.ts";
export { cleanCommands } from "./core/compat/clean-commands.ts";
export { deriveSettings, type MachineFacts, usableAddresses } from "./core/derive-settings.ts";
export { explainCapture, explainPacket } from "./core/explain.ts";
export { GENERATION_SHAPES } from "./core/generations.ts";
export {
  type CaptureGeneration,
  type CaptureOptions,
  type CaptureSettings,
  DEFAULT_OPTIONS,
  DEFAULT_SETTINGS,
} from "./core/settings.ts";
export { localAddresses, MACHINE_FILES, machineFacts, namespaceAddresses, ownerNames } from "./machine.ts";
export { startNflogReader } from "./nflog-reader.ts";
export { hasNativeTables } from "./nft-program.ts";
export { type CaptureRun, cleanCapture, runCapture, writeRecord } from "./run-capture.ts";
export { runProgram } from "./run-program.ts";
export { validateCapture } from "./validate-capture.ts";
