export { declareWasmMetrics, type WasmMetrics } from "./metrics.ts";
export { startWasmConverter, type WasmConverter, type WasmOptions } from "./start-wasm-converter.ts";
