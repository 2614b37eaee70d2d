import { arch } from "node:os";
import { resolve as absolute } from "node:path";
import { memberList } from "../protobuf/wire/edit-members.ts";
import { machineRoots } from "../protocol/x509/machine-roots.ts";
import { startModuleCache } from "./cache/start-module-cache.ts";
import { type ConvertedResponse, convertResponse } from "./convert-response.ts";
import type { RemoteModule } from "./core/remote-module.ts";
import { forbiddenAddresses } from "./fetch/address-rules.ts";
import { createHttpClient } from "./fetch/http-client.ts";
import { findModule } from "./find-module.ts";
import type { WasmConverter, WasmOptions } from "./options.ts";

const DEFAULT_EXPIRY_MS = 24 * 3_600_000;
const DEFAULT_PURGE_INTERVAL_MS = 3_600_000;
const DEFAULT_REQUEST_TIMEOUT_MS = 5000;
const DEFAULT_MAX_BYTES = 256 * 1024 * 1024;
/** Of a delta response. */
const REMOVED_RESOURCES = 6;
/** Node's names to those of image indexes, where they differ. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

/** Everything behind the converter. The purge timer runs from here on, until `stop`. */
export function openConverter(options: WasmOptions): Pick<WasmConverter, "convert" | "stop"> {
  const { metrics, log, rules } = options;
  const isInsecure = insecureHosts(options.insecureRegistries);
  const connections = {
    isForbidden: forbiddenAddresses(options.blockedCidrs),
    isInsecure,
    roots: machineRoots(options.rootsFile, log),
    ...(options.route !== undefined && { route: options.route }),
    ...(options.resolve !== undefined && { resolve: options.resolve }),
  };
  const finding = {
    client: createHttpClient({
      ...connections,
      timeoutMs: positive(options.requestTimeoutMs) ?? DEFAULT_REQUEST_TIMEOUT_MS,
    }),
    registryClient: createHttpClient(connections),
    attempts: options.maxRetries,
    maxBytes: positive(options.maxModuleBytes) ?? DEFAULT_MAX_BYTES,
    isInsecure,
    architecture: ARCHITECTURES[arch()] ?? arch(),
    dockerConfigPath: options.dockerConfigPath,
    metrics,
    log,
  };
  const inUse = trackModulesInUse();
  const cache = startModuleCache({
    directory: absolute(options.directory),
    expiryMs: positive(options.moduleExpiryMs) ?? DEFAULT_EXPIRY_MS,
    purgeIntervalMs: positive(options.purgeIntervalMs) ?? DEFAULT_PURGE_INTERVAL_MS,
    owner: options.owner,
    find: (module, signal) => findModule(module, finding, signal),
    isInUse: (path) => inUse.has(path) || options.isReferenced?.(path) === true,
    metrics,
    log,
  });
  return {
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
    stop: () => cache.stop(),
  };
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

/** Nothing, and less than that, is not a setting: a timer of it would never rest. */
function positive(value: number): number | undefined {
  return value > 0 ? value : undefined;
}

/** Exact names; a default port may be written out. */
function insecureHosts(list: readonly string[]): (host: string) => boolean {
  const hosts = new Set(list);
  if (hosts.has("*")) return () => true;
  return (host) => hosts.has(host) || (!/:\d+$/.test(host) && (hosts.has(`${host}:443`) || hosts.has(`${host}:80`)));
}

/** Which files the running proxy may open again: those of the last answer it got, by resource. */
interface ModulesInUse {
  /** The stream's resource now uses that file; undefined: none. The signal is the stream's life. */
  note(stream: AbortSignal, resource: string, path: string | undefined): void;
  has(path: string): boolean;
}

/**
 * A proxy whose stream ended keeps its filters, and gets the same files named after it restarts without a control plane. So the files
 * of an ended stream count until a later stream has listed its own.
 */
export function trackModulesInUse(): ModulesInUse {
  const streams = new Map<AbortSignal, Map<string, string>>();
  return {
    note(stream, resource, path) {
      for (const other of streams.keys()) if (other !== stream && other.aborted) streams.delete(other);
      const files = streams.get(stream) ?? new Map<string, string>();
      streams.set(stream, files);
      if (path === undefined) files.delete(resource);
      else files.set(resource, path);
    },
    has(path) {
      for (const files of streams.values()) for (const used of files.values()) if (used === path) return true;
      return false;
    },
  };
}
