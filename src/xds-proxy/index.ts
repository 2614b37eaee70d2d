import type { Logger } from "../base/logger.ts";
import type { ClientTls } from "../grpc/index.ts";
import type { LastGood, LastGoodOptions } from "./last-good/start-last-good.ts";
import type { XdsProxy, XdsProxyOptions } from "./options.ts";
import type { Tap, TapOptions } from "./tap/start-tap.ts";
import type { UpstreamTlsOptions } from "./upstream-tls.ts";

export type { LastGood } from "./last-good/start-last-good.ts";
export { declareXdsProxyMetrics } from "./metrics.ts";
export type { InternalHandler, UpstreamOptions, XdsProxy, XdsProxyOptions } from "./options.ts";
export type { Tap } from "./tap/start-tap.ts";
export type { UpstreamTlsOptions } from "./upstream-tls.ts";
export { reserveXdsSocket } from "./xds-socket.ts";

// Loaded when they are started: the socket is bound through this door before Envoy is spawned.

export async function startXdsProxy(options: XdsProxyOptions): Promise<XdsProxy> {
  return (await import("./start-xds-proxy.ts")).startXdsProxy(options);
}

export async function startLastGood(options: LastGoodOptions): Promise<LastGood> {
  return (await import("./last-good/start-last-good.ts")).startLastGood(options);
}

export async function createUpstreamTls(options: UpstreamTlsOptions, log: Logger): Promise<ClientTls> {
  return (await import("./upstream-tls.ts")).createUpstreamTls(options, log);
}

export async function startTap(options: TapOptions): Promise<Tap> {
  return (await import("./tap/start-tap.ts")).startTap(options);
}
