import type { BootstrapInputs } from "../inputs.ts";
import type { DocumentRules } from "./generations.ts";

export type RuntimeValue = string | number | boolean;

/** Envoy's static runtime layer: the generation's defaults, then ProxyConfig's values, where "" removes a default. */
export function runtimeLayer(inputs: BootstrapInputs, rules: DocumentRules): Readonly<Record<string, RuntimeValue>> {
  const layer = new Map<string, RuntimeValue>(Object.entries(rules.runtimeDefaults));
  if (inputs.agent.compliancePolicy === "fips-140-2")
    layer.set("envoy.reloadable_features.google_grpc_disable_tls_13", true);
  if (!inputs.features.stripFragmentFromPath) {
    layer.set("envoy.reloadable_features.http_strip_fragment_from_path_unsafe_if_disabled", "false");
  }
  for (const [key, value] of Object.entries(inputs.proxyConfig.runtimeValues ?? {})) {
    if (value === "") layer.delete(key);
    else layer.set(key, value === "true" ? true : value === "false" ? false : value);
  }
  return Object.fromEntries(layer);
}

const UNLIMITED = 2_147_483_647;
const LIMIT_METADATA = "ISTIO_META_GLOBAL_DOWNSTREAM_MAX_CONNECTIONS";
const LIMIT_RUNTIME = "overload.global_downstream_max_connections";

/** The first source that gives a positive number; Envoy refuses any other, so such a value is passed over with a warning. */
export function globalDownstreamLimit(inputs: BootstrapInputs, warnings: string[]): number {
  const { connectionSettings, proxyMetadata = {}, runtimeValues = {} } = inputs.proxyConfig;
  const limit = connectionSettings?.globalDownstreamConnectionLimit;
  if (limit !== undefined && limit > 0) return limit;
  const candidates = [
    [`proxyMetadata ${LIMIT_METADATA}`, proxyMetadata[LIMIT_METADATA]],
    [`runtimeValues ${LIMIT_RUNTIME}`, runtimeValues[LIMIT_RUNTIME]],
  ] as const;
  for (const [source, text] of candidates) {
    if (text === undefined || text === "") continue;
    const value = Number(text);
    if (/^[+-]?\d+$/.test(text) && value > 0 && Number.isSafeInteger(value)) return value;
    warnings.push(`${source}: "${text}" is not a positive number of connections; ignored`);
  }
  return UNLIMITED;
}
