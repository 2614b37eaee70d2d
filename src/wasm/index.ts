export { FALLBACK_RULES, type FallbackRules } from "./core/generations.ts";
export { declareWasmMetrics, type WasmMetrics } from "./metrics.ts";
export type { WasmConverter, WasmOptions } from "./options.ts";
export { startWasmConverter } from "./start-wasm-converter.ts";
