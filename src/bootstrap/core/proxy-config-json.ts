import type { ProxyConfig } from "../../protocol/proxy-config.ts";
import { isJsonObject } from "./json.ts";

/** Members whose zero value differs from absence: wrappers, and members of a oneof. */
const KEPT = new Set([
  "concurrency",
  "holdApplicationUntilProxyStarts",
  "statsCompression",
  "serviceCluster",
  "tracingServiceName",
]);
const ZERO_ENUMS: Readonly<Record<string, string>> = { controlPlaneAuthPolicy: "NONE", interceptionMode: "REDIRECT" };

/** The effective ProxyConfig as proto3 JSON: zero values of plain fields are left out. */
export function proxyConfigJson(config: ProxyConfig): Readonly<Record<string, unknown>> {
  const entries = Object.entries(config).filter(([name, value]) => KEPT.has(name) || !isZero(name, value));
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutZeroMode(value)]));
}

function isZero(name: string, value: unknown): boolean {
  if (value === undefined || value === "" || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (ZERO_ENUMS[name] !== undefined) return value === ZERO_ENUMS[name];
  const isMapField = name === "proxyMetadata" || name === "runtimeValues";
  return isMapField && isJsonObject(value) && Object.keys(value).length === 0;
}

function withoutZeroMode(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const tls = value.tlsSettings;
  if (!isJsonObject(tls) || tls.mode !== "DISABLE") return value;
  const { mode: _, ...rest } = tls;
  return { ...value, tlsSettings: rest };
}
