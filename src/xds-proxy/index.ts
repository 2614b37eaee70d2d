export { type LastGood, startLastGood } from "./last-good/start-last-good.ts";
export { declareXdsProxyMetrics } from "./metrics.ts";
export type { InternalHandler, UpstreamOptions, XdsProxy } from "./options.ts";
export { startXdsProxy } from "./start-xds-proxy.ts";
export { startTap, type Tap } from "./tap/start-tap.ts";
export { reserveXdsSocket } from "./xds-socket.ts";
