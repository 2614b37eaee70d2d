import { readFile } from "node:fs/promises";
import type { CloseStack } from "../base/close-stack.ts";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import { isJsonObject } from "../base/json-object.ts";
import { parseYaml } from "../files/yaml/parse-yaml.ts";
import {
  buildInjectionSettings,
  detectNativeSidecar,
  INJECTION_RULES,
  InjectError,
  type InjectionRules,
  type InjectionSettings,
  parseNativeSidecarMode,
  type ReviewCall,
  readInjectConfig,
} from "../inject/index.ts";
import type { FlagValues } from "./flag-values.ts";
import { chooseGeneration, type GenerationRules } from "./generations.ts";
import type { ClusterInjection } from "./inject-cluster.ts";

type Document = Record<string, unknown>;

/** Whoever gives one of these means a cluster; without them none is looked for, so that the command never waits. */
const CLUSTER_FLAGS = ["cluster", "kubeconfig", "context", "meshConfigMapName", "injectConfigMapName"];

export interface ReadInjectSettings {
  /** Asked for each pod before the settings count; the connection to it is closed with the stack. */
  readonly webhook?: ReviewCall;
  readonly settings: InjectionSettings;
  readonly warnings: readonly string[];
}

/**
 * The settings of the command `kube-inject`, from files, a cluster where flags name one, and the built-in ones: a cluster's policy and
 * selectors do not apply to it, as whoever runs it has decided already.
 */
export async function readInjectSettings(
  flags: FlagValues,
  env: Readonly<Record<string, string | undefined>>,
  opened: CloseStack,
): Promise<ReadInjectSettings> {
  const generation = chooseGeneration(env.PILOT_AGENT_GENERATION);
  const operator = await readOperator(flags.string("operatorFileName"));
  const configFile = flags.string("injectConfigFile");
  const valuesFile = flags.string("valuesFile");
  const meshFile = flags.string("meshConfigFile");
  const rules = injectionRules(generation);
  const { mode, warning } = parseNativeSidecarMode(env.ENABLE_NATIVE_SIDECARS, rules);
  const cluster: Partial<ClusterInjection> = CLUSTER_FLAGS.some((name) => flags.changed(name))
    ? await (await import("./inject-cluster.ts")).readClusterInjection(flags, env, opened)
    : {};
  const revision = cluster.revision ?? flags.string("revision");
  const config =
    configFile === "" ? (cluster.config ?? {}) : readInjectConfig(await readText("injectConfigFile", configFile));
  const settings = buildInjectionSettings({
    config: {
      ...config,
      policy: "enabled",
      neverInjectSelector: [],
      alwaysInjectSelector: [],
      injectedAnnotations: {},
    },
    values: operator.values ?? (valuesFile === "" ? (cluster.values ?? {}) : await readMap("valuesFile", valuesFile)),
    meshConfig:
      operator.meshConfig ?? (meshFile === "" ? (cluster.meshConfig ?? {}) : await readMap("meshConfigFile", meshFile)),
    revision: revision === "default" ? "" : revision,
    native: detectNativeSidecar(mode, cluster.kubelets),
    compliancePolicy: env.COMPLIANCE_POLICY ?? "",
    env,
    rules,
    proxyConfigRules: generation,
  });
  return {
    settings,
    ...(cluster.webhook && { webhook: cluster.webhook }),
    warnings: [...(warning === undefined ? [] : [warning]), ...(cluster.warnings ?? [])],
  };
}

/** The shapes that exist; a generation without one of its own has the next older or newer that looks the same. */
export function injectionRules({ name }: GenerationRules): InjectionRules {
  if (name === "master") return INJECTION_RULES.current;
  return name === "1.20" ? INJECTION_RULES["1.20"] : INJECTION_RULES["1.7"];
}

/** `spec` of an IstioOperator wins over the files of its parts. */
async function readOperator(file: string): Promise<{ readonly values?: Document; readonly meshConfig?: Document }> {
  if (file === "") return {};
  const { spec } = await readMap("operatorFileName", file);
  const { values, meshConfig } = isJsonObject(spec) ? spec : {};
  return { ...(isJsonObject(values) && { values }), ...(isJsonObject(meshConfig) && { meshConfig }) };
}

async function readMap(flag: string, file: string): Promise<Document> {
  const text = await readText(flag, file);
  let document: unknown;
  try {
    document = (await parseYaml(text)) ?? {};
  } catch (failure) {
    throw new InjectError("invalid-settings", `--${flag} ${file}: ${errorMessage(failure)}`, { cause: failure });
  }
  if (isJsonObject(document)) return document;
  throw new InjectError("invalid-settings", `--${flag} ${file} holds ${JSON.stringify(document)}, allowed is a map`);
}

async function readText(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (failure) {
    const problem = errorCode(failure) === "ENOENT" ? "no such file or directory" : errorMessage(failure);
    throw new InjectError("invalid-settings", `--${flag}: open ${file}: ${problem}`, { cause: failure });
  }
}
