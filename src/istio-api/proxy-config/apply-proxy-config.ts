import { deepFreeze } from "../../base/deep-freeze.ts";
import { TABLES } from "../../protobuf/gen/tables/proxy-config.ts";
import { withoutZeros } from "../../protobuf/json/zero-values.ts";
import { mergeMessages } from "../../protobuf/merge-messages.ts";
import { type MessageTable, MessageTables } from "../../protobuf/message-tables.ts";
import type { DecodeProblem } from "../config-problem.ts";
import type { ProxyConfig } from "./proxy-config.ts";
import type { ProxyConfigRules } from "./proxy-config-rules.ts";
import { readSettings } from "./read-settings.ts";

export interface AppliedProxyConfig {
  readonly config: ProxyConfig;
  readonly problems: readonly DecodeProblem[];
  readonly unknown: readonly string[];
}

/** Header fields an overlay keeps from its base when it does not set them; the others are lost, as in the reference. */
const INHERITED_HEADERS = ["forwardedClientCert", "requestId", "attemptCount", "server", "envoyDebugHeaders"] as const;

const MESSAGES = new MessageTables(TABLES);

/** The table of the message, which has no other in it: a proxy reads it before anything else. */
export function proxyConfigTable(): MessageTable {
  return MESSAGES.message("istio.mesh.v1alpha1.ProxyConfig");
}

/**
 * Lays a document (JSON data) over a ProxyConfig. A present field replaces the whole field, with two exceptions: proxyMetadata merges by
 * key, and proxyHeaders keeps five of its members. Null documents change nothing. The base is never modified.
 */
export function applyProxyConfig(base: ProxyConfig, document: unknown, rules: ProxyConfigRules): AppliedProxyConfig {
  if (document === null || document === undefined) return { config: base, problems: [], unknown: [] };
  const { value, problems, unknown } = readSettings(proxyConfigTable(), document, rules);
  const overlay: ProxyConfig = value;
  const config = {
    ...mergeMessages(proxyConfigTable(), base, overlay, "replace-members"),
    ...(rules.mergesProxyMetadata && mergedMetadata(base, overlay)),
    ...(rules.mergesProxyHeaders && mergedHeaders(base, overlay)),
  };
  return { config: deepFreeze(structuredClone(config)), problems, unknown };
}

/** The config in proto3 JSON form, which the control plane reads: fields at their zero value are absent, at every depth. */
export function proxyConfigJson(config: ProxyConfig): ProxyConfig {
  return withoutZeros(proxyConfigTable(), config);
}

function mergedMetadata(base: ProxyConfig, overlay: ProxyConfig): Pick<ProxyConfig, "proxyMetadata"> {
  if (overlay.proxyMetadata === undefined) return {};
  return { proxyMetadata: { ...base.proxyMetadata, ...overlay.proxyMetadata } };
}

function mergedHeaders(base: ProxyConfig, overlay: ProxyConfig): Pick<ProxyConfig, "proxyHeaders"> {
  const inheritable = base.proxyHeaders;
  const set = overlay.proxyHeaders;
  if (inheritable === undefined || set === undefined) return {};
  const inherited = INHERITED_HEADERS.filter((name) => inheritable[name] !== undefined && isUnset(set[name]));
  return { proxyHeaders: { ...set, ...Object.fromEntries(inherited.map((name) => [name, inheritable[name]])) } };
}

/** An explicit `{}` counts as set; the enum's zero name does not, because the wire form cannot tell it from absent. */
function isUnset(value: unknown): boolean {
  return value === undefined || value === "UNDEFINED";
}
