import type { Logger } from "../base/logger.ts";
import { fileErrorText } from "../files/read-file.ts";
import type { ConfigProblem } from "../istio-api/config-problem.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { redactConfigText } from "../istio-api/redact.ts";
import { ConfigError } from "./config-error.ts";
import { type ConfigFiles, readIfPresent } from "./config-files.ts";
import type { GenerationRules } from "./generations.ts";
import type { ProxyFlags } from "./proxy-flags.ts";

export interface MeshFileSources {
  readonly flags: Pick<ProxyFlags, "meshConfig">;
  readonly files: ConfigFiles;
  readonly rules: GenerationRules;
  readonly log: Logger;
}

/** The ProxyConfig of the mesh file. No file, or an empty one, leaves the config as it is. */
export async function readMeshFile(
  { flags, files, rules, log }: MeshFileSources,
  base: ProxyConfig,
): Promise<{ readonly config: ProxyConfig; readonly error?: ConfigError }> {
  const path = flags.meshConfig;
  let text: string | undefined;
  try {
    text = await readIfPresent(files, path);
  } catch (thrown) {
    const reason = fileErrorText(path, thrown);
    return {
      config: base,
      error: fail(`failed to read mesh config file ${path}: ${reason}`, [{ source: `file ${path}`, message: reason }]),
    };
  }
  if (text === undefined || text === "") return { config: base };
  log.info(`Apply mesh config from file ${redactConfigText(text)}`);
  // Few pods have the file, and all that is known about a mesh is more than what is known about a proxy.
  const { defaultMeshConfig, logMeshWarnings, parseMeshConfig } = await import(
    "../istio-api/mesh-config/parse-mesh-config.ts"
  );
  // The file lies over what earlier sources gave, not over a fresh default.
  const mesh = { ...defaultMeshConfig(rules), defaultConfig: base };
  const { config, problem } = await parseMeshConfig(text, mesh, `file ${path}`, rules);
  const defaultConfig = config.defaultConfig ?? base;
  if (problem !== undefined) {
    return {
      config: defaultConfig,
      error: fail(
        `failed to unmarshal mesh config from file [${redactConfigText(text)}]: ${problem.text}`,
        problem.problems,
      ),
    };
  }
  logMeshWarnings(config, log);
  return { config: defaultConfig };
}

function fail(message: string, problems: readonly ConfigProblem[]): ConfigError {
  return new ConfigError("invalid-proxy-config", `failed to get proxy config: ${message}`, problems);
}
