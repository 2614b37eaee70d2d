import { deepFreeze } from "../../base/deep-freeze.ts";
import type { Logger } from "../../base/logger.ts";
import { tryParseYaml } from "../../files/yaml/parse-yaml.ts";
import { TABLES as MESH_CONFIG } from "../../protobuf/gen/tables/mesh-config.ts";
import { TABLES as PROXY_CONFIG } from "../../protobuf/gen/tables/proxy-config.ts";
import { mergeMessages } from "../../protobuf/merge-messages.ts";
import { MessageTables } from "../../protobuf/message-tables.ts";
import { type ConfigProblem, type DecodeProblem, describeDecodeProblems, toConfigProblems } from "../config-problem.ts";
import { applyProxyConfig } from "../proxy-config/apply-proxy-config.ts";
import { explainProblems } from "../proxy-config/explain-problems.ts";
import type { ProxyConfigRules } from "../proxy-config/proxy-config-rules.ts";
import { readSettings } from "../proxy-config/read-settings.ts";
import { formatErrorList } from "../values/error-list.ts";
import { extensionProviderProblems } from "./extension-provider-problems.ts";
import type { ExtensionProvider, MeshConfig } from "./mesh-config.ts";
import { formatMeshProblems, meshConfigProblems, meshConfigWarnings } from "./validate-mesh-config.ts";

const TABLES = new MessageTables(PROXY_CONFIG, MESH_CONFIG);

export { defaultMeshConfig } from "./mesh-config.ts";

/** A whole mesh configuration from text, checked. With a problem, the config holds what could be used. */
export async function parseMeshConfig(
  text: string,
  base: MeshConfig,
  source: string,
  rules: ProxyConfigRules,
  parse: (text: string) => Promise<{
    readonly document: unknown;
    readonly fault?: { readonly message: string };
  }> = tryParseYaml,
): Promise<{
  readonly config: MeshConfig;
  readonly problem?: { readonly text: string; readonly problems: readonly ConfigProblem[] };
}> {
  const { document, fault } = await parse(text);
  if (fault !== undefined) {
    const { message } = fault;
    return {
      config: base,
      problem: { text: `failed to convert to proto. ${message}`, problems: [{ source, message }] },
    };
  }
  const applied = applyMeshConfig(base, document, rules);
  if (applied.problems.length > 0) {
    const described = `failed to convert to proto. ${describeDecodeProblems(applied.problems)}`;
    return {
      config: applied.config,
      problem: { text: described, problems: toConfigProblems(applied.problems, source) },
    };
  }
  // Rules are checked only on a document whose every field has the right type; otherwise they would blame the defaults.
  const broken = meshConfigProblems(applied.config, rules);
  if (broken.length === 0) return { config: applied.config };
  return {
    config: applied.config,
    problem: { text: formatMeshProblems(broken), problems: explainProblems(broken, applied.config, () => source) },
  };
}

/** A lone provider problem is printed without the list around it, as the reference does. */
export function logMeshWarnings(config: MeshConfig, log: Logger): void {
  const warnings = meshConfigWarnings(config);
  if (warnings.length > 0) log.warn(`warnings occurred during mesh validation: ${formatErrorList(warnings)}`);
  const providers = extensionProviderProblems(config);
  const [only] = providers;
  if (only === undefined) return;
  const listed = providers.length === 1 ? only : formatErrorList(providers);
  log
    .scope("validation")
    .warn(`found invalid extension provider (can be ignored if the given extension provider is not used): ${listed}`);
}

interface AppliedMeshConfig {
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
