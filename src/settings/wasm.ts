import type { Logger } from "../base/logger.ts";
import { parsePrefix } from "../net/ip-prefix.ts";
import type { EnvReader } from "./env-reader.ts";

export interface WasmConfig {
  readonly enabled: boolean;
  readonly insecureRegistries: readonly string[];
  readonly moduleExpiryMs: number;
  readonly purgeIntervalMs: number;
  readonly requestTimeoutMs: number;
  readonly maxRetries: number;
  readonly maxModuleBytes: number;
  /** Networks in CIDR form that no module is fetched from. */
  readonly blockedCidrs: readonly string[];
  /** Proxy for modules over plain http; "" for none. The one for https is that of the control plane. */
  readonly httpProxy: string;
}

/** Options of the Wasm module cache. */
export function readWasmConfig(env: EnvReader, log: Logger): WasmConfig {
  return Object.freeze({
    enabled: env.bool("ISTIO_AGENT_ENABLE_WASM_REMOTE_LOAD_CONVERSION"),
    insecureRegistries: Object.freeze(splitList(env.string("WASM_INSECURE_REGISTRIES"))),
    moduleExpiryMs: env.durationMs("WASM_MODULE_EXPIRY"),
    purgeIntervalMs: env.durationMs("WASM_PURGE_INTERVAL"),
    requestTimeoutMs: env.durationMs("WASM_HTTP_REQUEST_TIMEOUT"),
    maxRetries: env.int("WASM_HTTP_REQUEST_MAX_RETRIES"),
    maxModuleBytes: env.int("ISTIO_WASM_MAX_BINARY_SIZE_BYTES"),
    blockedCidrs: Object.freeze(
      splitList(env.string("BLOCKED_CIDRS_IN_WASM_FETCH")).filter((cidr) => isCidr(cidr, log)),
    ),
    httpProxy: env.string("HTTP_PROXY") || env.string("http_proxy"),
  });
}

/** Blanks and empty entries come from hand-written lists. */
function splitList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** A wrong entry would block less than the operator meant, so the log says so and nothing is guessed. */
function isCidr(text: string, log: Logger): boolean {
  const valid = parsePrefix(text) !== undefined;
  if (!valid)
    log.warn(
      `ignoring BLOCKED_CIDRS_IN_WASM_FETCH entry ${JSON.stringify(text)}: invalid CIDR address, expecting for example 10.0.0.0/8`,
    );
  return valid;
}
