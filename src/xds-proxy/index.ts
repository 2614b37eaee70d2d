export { EXTENSION_TYPE, NAME_TABLE_TYPE, PROXY_CONFIG_TYPE } from "./core/type-urls.ts";
export { declareXdsProxyMetrics, type XdsProxyMetrics } from "./metrics.ts";
export type {
  InternalHandler,
  StreamDescription,
  UpstreamOptions,
  WorkloadHealth,
  XdsProxy,
  XdsProxyOptions,
} from "./options.ts";
export { startXdsProxy } from "./start-xds-proxy.ts";
