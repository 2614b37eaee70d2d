import type { SecureContext } from "node:tls";
import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { ProxyOwner } from "../files/proxy-file.ts";
import type { ProxyRoute } from "../net/http-proxy/proxy-route.ts";
import type { ConvertedResponse } from "./convert-response.ts";
import type { FallbackRules } from "./core/generations.ts";
import type { Resolve } from "./fetch/guarded-lookup.ts";
import type { WasmMetrics } from "./metrics.ts";

export interface WasmOptions {
  /** Where modules are cached; created with the first one. */
  readonly directory: string;
  /** host[:port] whose certificates go unverified and whose registry may speak plain http; "*" means all. */
  readonly insecureRegistries: readonly string[];
  readonly moduleExpiryMs: number;
  readonly purgeIntervalMs: number;
  readonly requestTimeoutMs: number;
  /** Attempts of a download in all. */
  readonly maxRetries: number;
  readonly maxModuleBytes: number;
  readonly blockedCidrs: readonly string[];
  /** Docker's config.json for images without a pull secret. */
  readonly dockerConfigPath?: string | undefined;
  readonly rules: FallbackRules;
  /** The user the proxy runs as, when it is not the agent's. */
  readonly owner?: ProxyOwner | undefined;
  /** The machine's roots, PEM; the runtime's own when absent. */
  readonly rootsFile?: string | undefined;
  /** The way of each request when it is not the direct one, such as through a proxy; the roots are for TLS with it. A throw fails the request. */
  readonly route?: (url: URL, roots: () => SecureContext) => ProxyRoute | undefined;
  /** Files that the proxy may be given by somebody else, also when no response here has named them. */
  readonly isReferenced?: (path: string) => boolean;
  /** The system's name resolution when absent. */
  readonly resolve?: Resolve;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
}

/** Replaces remote Wasm modules by local files. Fits the xDS proxy's converters. */
export interface WasmConverter extends Handle {
  readonly typeUrl: string;
  convert(
    response: { readonly kind: "sotw" | "delta"; readonly message: Buffer },
    signal: AbortSignal,
  ): Promise<ConvertedResponse>;
}
