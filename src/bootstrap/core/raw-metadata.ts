import { isJsonObject } from "../../base/json-object.ts";
import { parseExactJson } from "../../files/json/exact-json.ts";
import { jsonSyntaxError } from "../../files/json/json-syntax-error.ts";
import type { StringMap } from "../../istio-api/proxy-config/proxy-config.ts";
import type { NodeRules } from "./generations.ts";

/** A metadata value before it got its type, and the variable it came from, for messages. */
export interface RawValue {
  readonly value: unknown;
  readonly source: string;
}

const META = "ISTIO_META_";
const META_JSON = "ISTIO_METAJSON_";

/** Gathers untyped metadata in the reference's order; a later source wins. Warnings are appended to `warnings`. */
export function readRawMetadata(
  rules: NodeRules,
  proxyMetadata: StringMap,
  env: StringMap,
  warnings: string[],
): ReadonlyMap<string, RawValue> {
  const raw = new Map<string, RawValue>();
  if (rules.importsProxyMetadata) {
    for (const [name, value] of Object.entries(proxyMetadata)) {
      if (name.startsWith(META)) raw.set(name.slice(META.length), { value, source: `proxyMetadata ${name}` });
    }
  }
  const skipped = (name: string) => rules.skippedPrefixes.some((prefix) => name.startsWith(prefix));
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith(META) && !skipped(name)) raw.set(name.slice(META.length), { value, source: name });
  }
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(META_JSON)) continue;
    for (const [key, item] of Object.entries(parseObject(name.slice(META_JSON.length), value, warnings))) {
      raw.set(key, { value: item, source: name });
    }
  }
  const dnsProxy = env.DNS_PROXY_ADDR;
  if (rules.typedKeys.has("DNS_PROXY_ADDR") && dnsProxy) {
    raw.set("DNS_PROXY_ADDR", { value: dnsProxy, source: "DNS_PROXY_ADDR" });
  }
  return raw;
}

/** ISTIO_METAJSON_LABELS as labels: values that are not text become "", with a warning. */
export function readStaticLabels(env: StringMap, warnings: string[]): Map<string, string> {
  const text = env[`${META_JSON}LABELS`];
  const labels = new Map<string, string>();
  if (text === undefined) return labels;
  for (const [key, value] of Object.entries(parseObject("", text, []))) {
    if (typeof value !== "string") {
      warnings.push(`Env variable with value "${text}" failed json unmarshal: label "${key}" is not a string`);
    }
    labels.set(key, typeof value === "string" ? value : "");
  }
  return labels;
}

const GO_KINDS: Readonly<Record<string, string>> = { boolean: "bool", bigint: "number" };

function parseObject(name: string, text: string, warnings: string[]): Readonly<Record<string, unknown>> {
  const warn = (reason: string) => warnings.push(`Env variable ${name} [${text}] failed json unmarshal: ${reason}`);
  try {
    const value: unknown = parseExactJson(text);
    if (isJsonObject(value)) return value;
    if (value !== null) {
      const kind = Array.isArray(value) ? "array" : (GO_KINDS[typeof value] ?? typeof value);
      warn(`json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`);
    }
  } catch (failure) {
    warn(jsonSyntaxError(text) ?? (failure as Error).message);
  }
  return {};
}
