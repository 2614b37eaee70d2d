import { arch } from "node:os";
import { resolve as absolute } from "node:path";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { ProxyOwner } from "../base/proxy-file.ts";
import { memberList } from "../protocol/protobuf/edit-members.ts";
import { trackModulesInUse } from "./cache/modules-in-use.ts";
import { startModuleCache } from "./cache/start-module-cache.ts";
import { type ConvertedResponse, convertResponse } from "./convert-response.ts";
import { CURRENT_RULES, LEGACY_RULES } from "./core/generations.ts";
import type { RemoteModule } from "./core/remote-module.ts";
import { EXTENSION_CONFIG_TYPE } from "./core/wasm-filter.ts";
import { forbiddenAddresses } from "./fetch/address-rules.ts";
import type { Resolve } from "./fetch/guarded-lookup.ts";
import { createHttpClient } from "./fetch/http-client.ts";
import { findModule } from "./find-module.ts";
import type { WasmMetrics } from "./metrics.ts";

export interface WasmOptions {
  /** Where modules are kept; made when the first one comes. */
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
  /** "legacy": generation 1.20 and before. */
  readonly fallback: "current" | "legacy";
  /** The user the proxy runs as, when it is not the agent's. */
  readonly owner?: ProxyOwner | undefined;
  /** PEM roots; node's own when absent. */
  readonly ca?: string;
  /** The system's name resolution when absent. */
  readonly resolve?: Resolve;
  readonly metrics: WasmMetrics;
  readonly log: Logger;
}

/** Puts local files in the place of remote Wasm modules. Fits the xDS proxy's converters. */
export interface WasmConverter extends Handle {
  readonly typeUrl: string;
  convert(
    response: { readonly kind: "sotw" | "delta"; readonly message: Buffer },
    signal: AbortSignal,
  ): Promise<ConvertedResponse>;
}

const DEFAULT_EXPIRY_MS = 24 * 3_600_000;
const DEFAULT_PURGE_INTERVAL_MS = 3_600_000;
const DEFAULT_REQUEST_TIMEOUT_MS = 5000;
const DEFAULT_MAX_BYTES = 256 * 1024 * 1024;
/** Of a delta response. */
const REMOVED_RESOURCES = 6;
/** Node's names to those of image indexes, where they differ. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

export async function startWasmConverter(options: WasmOptions): Promise<WasmConverter> {
  const { metrics, log } = options;
  const isInsecure = insecureHosts(options.insecureRegistries);
  const connections = {
    isForbidden: forbiddenAddresses(options.blockedCidrs),
    isInsecure,
    ...(options.ca !== undefined && { ca: options.ca }),
    ...(options.resolve !== undefined && { resolve: options.resolve }),
  };
  const finding = {
    client: createHttpClient({
      ...connections,
      timeoutMs: options.requestTimeoutMs || DEFAULT_REQUEST_TIMEOUT_MS,
    }),
    registryClient: createHttpClient(connections),
    attempts: options.maxRetries,
    maxBytes: options.maxModuleBytes > 0 ? options.maxModuleBytes : DEFAULT_MAX_BYTES,
    isInsecure,
    architecture: ARCHITECTURES[arch()] ?? arch(),
    dockerConfigPath: options.dockerConfigPath,
    metrics,
  };
  const inUse = trackModulesInUse();
  const cache = startModuleCache({
    directory: absolute(options.directory),
    expiryMs: options.moduleExpiryMs || DEFAULT_EXPIRY_MS,
    purgeIntervalMs: options.purgeIntervalMs || DEFAULT_PURGE_INTERVAL_MS,
    owner: options.owner,
    find: (module, signal) => findModule(module, finding, signal),
    isInUse: (path) => inUse.has(path),
    metrics,
    log,
  });
  const rules = options.fallback === "legacy" ? LEGACY_RULES : CURRENT_RULES;
  return toHandle({
    typeUrl: EXTENSION_CONFIG_TYPE,
    async convert({ kind, message }, signal) {
      const since = performance.now();
      if (kind === "delta") {
        for (const name of memberList(message, REMOVED_RESOURCES)) inUse.note(signal, name.toString("utf8"), undefined);
      }
      const load = async (module: RemoteModule) => {
        inUse.note(signal, module.resourceName, undefined);
        const path = await cache.get(module);
        inUse.note(signal, module.resourceName, path);
        return path;
      };
      const converted = convertResponse({ kind, message, rules, metrics, log, load });
      // A fetch that is under way goes on: the client comes back and asks for the same.
      const result = await unlessAborted(converted, signal);
      metrics.conversionTime.observe(performance.now() - since);
      return result;
    },
    ended: new Promise<void>(() => undefined),
    stop: () => cache.stop(),
  } satisfies Omit<WasmConverter, keyof AsyncDisposable>);
}

function unlessAborted(converted: Promise<ConvertedResponse>, signal: AbortSignal): Promise<ConvertedResponse> {
  const ended = { refusal: "the stream has ended" };
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(ended);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    converted.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Exact names; a default port may be written out. */
function insecureHosts(list: readonly string[]): (host: string) => boolean {
  const hosts = new Set(list);
  if (hosts.has("*")) return () => true;
  return (host) => hosts.has(host) || (!/:\d+$/.test(host) && (hosts.has(`${host}:443`) || hosts.has(`${host}:80`)));
}
