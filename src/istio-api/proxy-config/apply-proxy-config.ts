import { deepFreeze } from "../../base/deep-freeze.ts";
import { type DecodeProblem, decodeMessage } from "../../protobuf/json-message/decode-message.ts";
import { mergeMessage } from "../../protobuf/json-message/merge-message.ts";
import type { MessageTable } from "../../protobuf/json-message/message-table.ts";
import { pruneMessage } from "../../protobuf/json-message/print-message.ts";
import type { ProxyConfig } from "./proxy-config.ts";
import type { ProxyConfigRules } from "./proxy-config-rules.ts";
import { LEGACY_PROXY_CONFIG, PROXY_CONFIG } from "./proxy-config-table.ts";

export interface AppliedProxyConfig {
  readonly config: ProxyConfig;
  readonly problems: readonly DecodeProblem[];
  readonly unknown: readonly string[];
}

/** Header fields an overlay keeps from its base when it does not set them; the others are lost, as in the reference. */
const KEPT_HEADERS = ["forwardedClientCert", "requestId", "attemptCount", "server", "envoyDebugHeaders"] as const;

export function proxyConfigTable(rules: ProxyConfigRules): MessageTable {
  return rules.legacyProxyConfigDefaults ? LEGACY_PROXY_CONFIG : PROXY_CONFIG;
}

/**
 * Lays a document (JSON data) over a ProxyConfig. A present field replaces the whole field, with two exceptions: proxyMetadata merges by
 * key, and proxyHeaders keeps five of its members. Null documents change nothing. The base is never modified.
 */
export function applyProxyConfig(base: ProxyConfig, document: unknown, rules: ProxyConfigRules): AppliedProxyConfig {
  if (document === null || document === undefined) return { config: base, problems: [], unknown: [] };
  const table = proxyConfigTable(rules);
  const { fields, problems, unknown } = decodeMessage(table, document);
  const overlay = fields as ProxyConfig;
  const merged = mergeMessage(table, base as Record<string, unknown>, fields);
  const config = {
    ...(merged as ProxyConfig),
    ...(rules.mergesProxyMetadata && mergedMetadata(base, overlay)),
    ...(rules.mergesProxyHeaders && mergedHeaders(base, overlay)),
  };
  return { config: deepFreeze(structuredClone(config)), problems, unknown };
}

/** The config in proto3 JSON form, which the control plane reads: fields at their zero value are absent, at every depth. */
export function proxyConfigJson(config: ProxyConfig, rules: ProxyConfigRules): ProxyConfig {
  return pruneMessage(proxyConfigTable(rules), config as Record<string, unknown>) as ProxyConfig;
}

function mergedMetadata(base: ProxyConfig, overlay: ProxyConfig): Pick<ProxyConfig, "proxyMetadata"> {
  if (overlay.proxyMetadata === undefined) return {};
  return { proxyMetadata: { ...base.proxyMetadata, ...overlay.proxyMetadata } };
}

function mergedHeaders(base: ProxyConfig, overlay: ProxyConfig): Pick<ProxyConfig, "proxyHeaders"> {
  const kept = base.proxyHeaders;
  const set = overlay.proxyHeaders;
  if (kept === undefined || set === undefined) return {};
  const inherited = KEPT_HEADERS.filter((name) => kept[name] !== undefined && isUnset(set[name]));
  return { proxyHeaders: { ...set, ...Object.fromEntries(inherited.map((name) => [name, kept[name]])) } };
}

/** An explicit `{}` counts as set; the enum's zero name does not, because the wire form cannot tell it from absent. */
function isUnset(value: unknown): boolean {
  return value === undefined || value === "UNDEFINED";
}
