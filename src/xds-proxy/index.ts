export { EXTENSION_TYPE, NAME_TABLE_TYPE, PROXY_CONFIG_TYPE } from "./core/type-urls.ts";
export { connectThroughProxy, type ProxyEnvironment } from "./http-proxy/connect-through-proxy.ts";
export { forwardProxy } from "./http-proxy/forward-proxy.ts";
export { type LastGood, type LastGoodOptions, startLastGood } from "./last-good/start-last-good.ts";
export { declareXdsProxyMetrics, type XdsProxyMetrics } from "./metrics.ts";
export type {
  ConvertibleResponse,
  InternalHandler,
  ResponseConverter,
  StreamDescription,
  UpstreamOptions,
  WorkloadHealth,
  XdsProxy,
  XdsProxyOptions,
} from "./options.ts";
export { startXdsProxy } from "./start-xds-proxy.ts";
export { startTap, type Tap, type TapOptions } from "./tap/start-tap.ts";
export { XdsProxyError } from "./xds-proxy-error.ts";
export { reserveXdsSocket } from "./xds-socket.ts";
