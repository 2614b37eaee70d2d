import { isDeepStrictEqual } from "node:util";
import { proxyConfigJson, proxyConfigTable } from "../../istio-api/proxy-config/apply-proxy-config.ts";
import { defaultProxyConfig } from "../../istio-api/proxy-config/default-proxy-config.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import type { ProxyConfigRules } from "../../istio-api/proxy-config/proxy-config-rules.ts";
import { goJson } from "./json.ts";

/** Left out of a pod's PROXY_CONFIG where they have their default, to keep pods small. */
const LEFT_OUT: readonly string[] = [
  "configPath",
  "binaryPath",
  "controlPlaneAuthPolicy",
  "serviceCluster",
  "drainDuration",
  "parentShutdownDuration",
  "terminationDrainDuration",
  "discoveryAddress",
  "envoyMetricsService",
  "envoyAccessLogService",
  "tracing",
  "proxyAdminPort",
  "statNameLength",
  "statusPort",
  "concurrency",
];

/** Most pods have the mesh's own: one object, whose text is made once. */
const texts = new WeakMap<ProxyConfig, { readonly rules: ProxyConfigRules; readonly text: string }>();

/** PROXY_CONFIG of a pod: compact JSON, fields in the order of their declaration. */
export function cleanProxyConfigText(config: ProxyConfig, rules: ProxyConfigRules): string {
  const known = texts.get(config);
  if (known?.rules === rules) return known.text;
  const text = buildText(config, rules);
  texts.set(config, { rules, text });
  return text;
}

function buildText(config: ProxyConfig, rules: ProxyConfigRules): string {
  const defaults = proxyConfigJson(defaultProxyConfig(rules));
  const shown = proxyConfigJson(config) as Readonly<Record<string, unknown>>;
  const fields: Record<string, unknown> = {};
  for (const name of proxyConfigTable().byName.keys()) {
    const value = shown[name];
    if (value === undefined) continue;
    if (LEFT_OUT.includes(name) && isDeepStrictEqual(value, defaults[name as keyof ProxyConfig])) continue;
    if (name === "proxyMetadata" && Object.keys(value as object).length === 0) continue;
    fields[name] = name === "proxyMetadata" ? sorted(value as object) : value;
  }
  return goJson(fields);
}

function sorted(map: object): object {
  return Object.fromEntries(Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1)));
}
