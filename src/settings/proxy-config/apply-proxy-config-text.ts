import type { Logger } from "../../base/logger.ts";
import { suggest } from "../../base/suggest.ts";
import { tryParseYaml } from "../../files/yaml/parse-yaml.ts";
import { describeDecodeProblems, toConfigProblems } from "../../istio-api/config-problem.ts";
import { applyProxyConfig, proxyConfigTable } from "../../istio-api/proxy-config/apply-proxy-config.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import { redactConfigText } from "../../istio-api/redact.ts";
import { ConfigError } from "../config-error.ts";
import type { GenerationRules } from "../generations.ts";

export interface ProxyConfigText {
  readonly text: string;
  /** What error messages call the source: environment, annotation. */
  readonly name: string;
  readonly source: string;
}

/** Lays a YAML or JSON text over a config. With an error the config holds what could be applied, so that later sources are checked too. */
export async function applyProxyConfigText(
  base: ProxyConfig,
  { text, name, source }: ProxyConfigText,
  rules: GenerationRules,
  log: Logger,
): Promise<{ readonly config: ProxyConfig; readonly error?: ConfigError }> {
  const prefix = `failed to get proxy config: failed to unmarshal mesh config from ${name} [${redactConfigText(text)}]: could not parse proxy config: `;
  const { document, fault } = await tryParseYaml(text);
  if (fault !== undefined) {
    const { message } = fault;
    return {
      config: base,
      error: new ConfigError("invalid-proxy-config", prefix + message, [{ source, message }], { cause: fault }),
    };
  }
  const { config, problems, unknown } = applyProxyConfig(base, document, rules);
  for (const field of unknown)
    log.warn(`${source}: ${field} has no effect: ProxyConfig has no such member${nearMember(field)}`);
  if (problems.length === 0) return { config };
  const error = new ConfigError(
    "invalid-proxy-config",
    prefix + describeDecodeProblems(problems),
    toConfigProblems(problems, source),
  );
  return { config, error };
}

function nearMember(field: string): string {
  const [near] = suggest(field, [...proxyConfigTable().byName.keys()]);
  return near === undefined ? "" : `; did you mean ${near}?`;
}
