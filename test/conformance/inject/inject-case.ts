import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseGoYaml } from "../../../src/files/yaml/parse-go-yaml.ts";
import { buildInjectionSettings } from "../../../src/inject/core/build-settings.ts";
import type { Json } from "../../../src/inject/core/json.ts";
import { readInjectConfig } from "../../../src/inject/core/read-config.ts";
import { INJECTION_RULES } from "../../../src/inject/core/rules.ts";
import type { InjectionSettings } from "../../../src/inject/core/settings.ts";
import { generationRules } from "../../../src/settings/generations.ts";

/** The README beside the cases says what each field means. */
export interface InjectCase {
  readonly id: string;
  readonly input: string;
  readonly expected: string | null;
  readonly paths: readonly ("kube-inject" | "webhook")[];
  readonly native_sidecars: boolean;
  readonly values?: Json;
  readonly mesh?: Json;
  readonly env?: Readonly<Record<string, string>>;
  readonly namespace_object?: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly inject_config?: {
    readonly injectConfigFile: string;
    readonly valuesFile: string;
    readonly meshConfigFile: string;
  };
  readonly error_contains?: string;
  readonly warning_contains?: string;
  readonly generation?: "current" | "1.20" | "1.7";
}

export interface InjectDefaults {
  readonly values: string;
  readonly mesh: string;
  readonly policy: string;
  readonly default_templates: readonly string[];
  readonly revision_kube_inject: string;
  readonly revision_webhook: string;
}

export interface InjectCases {
  readonly defaults: InjectDefaults;
  readonly cases: readonly InjectCase[];
}

const GENERATIONS = { current: "master", "1.20": "1.20", "1.7": "1.7" } as const;

export async function settingsOf(
  dir: string,
  entry: InjectCase,
  defaults: InjectDefaults,
  revision: string,
): Promise<InjectionSettings> {
  const generation = entry.generation ?? "current";
  const { config, values, meshConfig } =
    entry.inject_config === undefined ? await merged(dir, entry, defaults) : await fromFiles(dir, entry.inject_config);
  return buildInjectionSettings({
    config,
    values,
    meshConfig,
    revision,
    native: entry.native_sidecars,
    compliancePolicy: entry.env?.COMPLIANCE_POLICY ?? "",
    env: entry.env ?? {},
    rules: INJECTION_RULES[generation],
    proxyConfigRules: generationRules(GENERATIONS[generation]),
  });
}

type Documents = Pick<Parameters<typeof buildInjectionSettings>[0], "config" | "values" | "meshConfig">;

async function merged(dir: string, entry: InjectCase, defaults: InjectDefaults): Promise<Documents> {
  const [values, mesh] = await Promise.all([readJson(join(dir, defaults.values)), readJson(join(dir, defaults.mesh))]);
  return {
    config: { policy: defaults.policy, defaultTemplates: defaults.default_templates },
    values: overlay(values, entry.values ?? {}),
    meshConfig: overlay(mesh, entry.mesh ?? {}),
  };
}

async function fromFiles(dir: string, files: NonNullable<InjectCase["inject_config"]>): Promise<Documents> {
  const read = (file: string) => readFile(join(dir, file), "utf8");
  return {
    config: readInjectConfig(await read(files.injectConfigFile)),
    values: parseGoYaml(await read(files.valuesFile)) as Json,
    meshConfig: parseGoYaml(await read(files.meshConfigFile)),
  };
}

async function readJson(file: string): Promise<Json> {
  return JSON.parse(await readFile(file, "utf8")) as Json;
}

/** A key that ends in `+` appends to the list. */
function overlay(base: Json, over: Json): Json {
  const result: Json = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const list = key.endsWith("+") ? key.slice(0, -1) : undefined;
    if (list !== undefined) result[list] = [...((result[list] as unknown[]) ?? []), ...(value as unknown[])];
    else result[key] = isMap(result[key]) && isMap(value) ? overlay(result[key], value) : value;
  }
  return result;
}

function isMap(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The first line that differs. */
export function textDifference(expected: string, actual: string): string | undefined {
  if (expected === actual) return undefined;
  const [want, got] = [expected.split("\n"), actual.split("\n")];
  const line = want.findIndex((text, index) => text !== got[index]);
  const at = line === -1 ? want.length : line;
  return `line ${at + 1}: expected ${JSON.stringify(want[at])}, got ${JSON.stringify(got[at])}`;
}
