export { declareWasmMetrics, type WasmMetrics } from "./metrics.ts";
export type { WasmConverter } from "./options.ts";
export { startWasmConverter } from "./start-wasm-converter.ts";
