import type { Logger } from "../base/logger.ts";
import { parsePrefix } from "../net/ip-prefix.ts";
import type { FallbackRules, WasmOptions } from "../wasm/index.ts";
import type { EnvReader } from "./env-reader.ts";

/** Below the working directory, which is the root directory in the image. */
const MODULE_DIRECTORY = "var/lib/istio/data";

/** What the composition root adds depends on the machine and on parts that are running. */
export type WasmSettings = Omit<
  WasmOptions,
  "metrics" | "log" | "owner" | "dockerConfigPath" | "rootsFile" | "route" | "isReferenced" | "resolve"
>;

/** Undefined when remote modules are left to Envoy. */
export function readWasmSettings(env: EnvReader, rules: FallbackRules, log: Logger): WasmSettings | undefined {
  // Read in any case: a value that does not parse is warned about.
  const settings: WasmSettings = Object.freeze({
    directory: MODULE_DIRECTORY,
    rules,
    insecureRegistries: Object.freeze(splitList(env.string("WASM_INSECURE_REGISTRIES"))),
    moduleExpiryMs: env.durationMs("WASM_MODULE_EXPIRY"),
    purgeIntervalMs: env.durationMs("WASM_PURGE_INTERVAL"),
    requestTimeoutMs: env.durationMs("WASM_HTTP_REQUEST_TIMEOUT"),
    maxRetries: env.int("WASM_HTTP_REQUEST_MAX_RETRIES"),
    maxModuleBytes: env.int("ISTIO_WASM_MAX_BINARY_SIZE_BYTES"),
    blockedCidrs: Object.freeze(
      splitList(env.string("BLOCKED_CIDRS_IN_WASM_FETCH")).filter((cidr) => isCidr(cidr, log)),
    ),
  });
  return env.bool("ISTIO_AGENT_ENABLE_WASM_REMOTE_LOAD_CONVERSION") ? settings : undefined;
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
