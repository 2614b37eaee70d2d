import { deepFreeze } from "../../base/deep-freeze.ts";
import { TABLES as MESH_CONFIG } from "../../protobuf/gen/tables/mesh-config.ts";
import { TABLES as PROXY_CONFIG } from "../../protobuf/gen/tables/proxy-config.ts";
import { mergeMessages } from "../../protobuf/merge-messages.ts";
import { MessageTables } from "../../protobuf/message-tables.ts";
import type { DecodeProblem } from "../config-problem.ts";
import { applyProxyConfig } from "../proxy-config/apply-proxy-config.ts";
import type { ProxyConfigRules } from "../proxy-config/proxy-config-rules.ts";
import { readSettings } from "../proxy-config/read-settings.ts";
import type { ExtensionProvider, MeshConfig } from "./mesh-config.ts";

const TABLES = new MessageTables(PROXY_CONFIG, MESH_CONFIG);

export interface AppliedMeshConfig {
  readonly config: MeshConfig;
  readonly problems: readonly DecodeProblem[];
  readonly unknown: readonly string[];
}

/**
 * Lays a mesh file (JSON data) over a MeshConfig. Fields replace, except defaultConfig (merged as a ProxyConfig), defaultProviders (by
 * list), extensionProviders (by name) and trustDomainAliases (sorted union). Null documents change nothing.
 */
export function applyMeshConfig(base: MeshConfig, document: unknown, rules: ProxyConfigRules): AppliedMeshConfig {
  if (document === null || document === undefined) return { config: base, problems: [], unknown: [] };
  // The snake case spelling of defaultConfig is checked like any field and then has no effect, as in the reference.
  const table = TABLES.message("istio.mesh.v1alpha1.MeshConfig");
  const { value, problems, unknown } = readSettings(table, document, rules);
  const overlay: MeshConfig = value;
  const { defaultConfig: _checked, ...others } = overlay;
  const spelled = typeof document === "object" && Object.hasOwn(document, "defaultConfig");
  const nested = spelled ? (document as { defaultConfig: unknown }).defaultConfig : undefined;
  const proxy = applyProxyConfig(base.defaultConfig ?? {}, problems.some(isNested) ? undefined : nested, rules);
  const config: MeshConfig = {
    ...mergeMessages(table, base, others, "replace-members"),
    ...(base.defaultConfig !== undefined || nested !== undefined ? { defaultConfig: proxy.config } : {}),
    ...(overlay.defaultProviders && { defaultProviders: { ...base.defaultProviders, ...overlay.defaultProviders } }),
    ...(overlay.extensionProviders && {
      extensionProviders: mergeProviders(base.extensionProviders ?? [], overlay.extensionProviders),
    }),
    ...(overlay.trustDomainAliases && {
      trustDomainAliases: union(base.trustDomainAliases ?? [], overlay.trustDomainAliases),
    }),
  };
  return { config: deepFreeze(structuredClone(config)), problems, unknown };
}

function isNested(problem: DecodeProblem): boolean {
  return /^default(?:Config|_config)/.test(problem.path);
}

/** A known name is replaced where it stands, a new one comes last. */
function mergeProviders(
  base: readonly ExtensionProvider[],
  overlay: readonly ExtensionProvider[],
): readonly ExtensionProvider[] {
  const result = [...base];
  for (const provider of overlay) {
    const at = result.findIndex((known) => known.name === provider.name);
    if (at === -1) result.push(provider);
    else result[at] = provider;
  }
  return result;
}

function union(base: readonly string[], overlay: readonly string[]): readonly string[] {
  return [...new Set([...base, ...overlay])].sort();
}
