import type { Logger } from "../../base/logger.ts";
import { tryParseYaml } from "../../files/yaml/parse-yaml.ts";
import { type ConfigProblem, describeDecodeProblems, toConfigProblems } from "../config-problem.ts";
import { explainProblems } from "../proxy-config/explain-problems.ts";
import type { ProxyConfigRules } from "../proxy-config/proxy-config-rules.ts";
import { formatErrorList } from "../values/error-list.ts";
import { applyMeshConfig } from "./apply-mesh-config.ts";
import { extensionProviderProblems } from "./extension-provider-problems.ts";
import type { MeshConfig } from "./mesh-config.ts";
import { formatMeshProblems, meshConfigProblems, meshConfigWarnings } from "./validate-mesh-config.ts";

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
