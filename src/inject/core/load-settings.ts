import { isJsonObject } from "../../base/json-object.ts";
import { InjectError } from "../inject-error.ts";
import { mutatePod } from "./admission/mutate-pod.ts";
import { buildInjectionSettings, type SettingsInput } from "./build-settings.ts";
import { configProblems, valuesProblems } from "./config-problems.ts";
import { defaultValues } from "./default-values.ts";
import type { Json } from "./json.ts";
import type { InjectionSettings } from "./settings.ts";

/** A text and where it is from, for messages. */
export interface SourceText {
  readonly text: string;
  readonly source: string;
}

/** What an installation says; what is absent is built in. */
export interface InjectionTexts {
  /** YAML with policy, selectors, templates. */
  readonly config?: SourceText | undefined;
  readonly values?: SourceText | undefined;
}

/** The data of a text, or why it has none. */
export interface SourceData {
  readonly source: string;
  readonly document: unknown;
  readonly fault?: { readonly message: string } | undefined;
}

export interface SettingsSources extends Omit<SettingsInput, "config" | "values"> {
  readonly config?: SourceData | undefined;
  readonly values?: SourceData | undefined;
}

/**
 * The settings of a webhook. Rejects with an InjectError that names the source, and for a template its line. `before` are those in
 * force: a pod that they can inject must not become one that the new ones cannot.
 */
export function loadInjectionSettings(sources: SettingsSources, before?: InjectionSettings): InjectionSettings {
  const config = readMap(sources.config);
  const values = readMap(sources.values);
  refuse(sources.config, configProblems(config));
  refuse(sources.values, valuesProblems(defaultValues(sources.rules), values));
  const settings = naming(sources.config, () => buildInjectionSettings({ ...sources, config, values }));
  const problem = trialProblem(settings);
  if (problem !== undefined && before !== undefined && trialProblem(before) === undefined) {
    const names = [sources.config, sources.values].flatMap((given) => given?.source ?? []).join(" and ");
    throw new InjectError("invalid-settings", `${names}: a plain pod can no longer be injected: ${problem}`);
  }
  return settings;
}

function readMap(given: SourceData | undefined): Json {
  if (given?.fault !== undefined) throw new InjectError("invalid-settings", `${given.source}: ${given.fault.message}`);
  const document = given?.document ?? {};
  if (isJsonObject(document)) return document;
  throw new InjectError("invalid-settings", `${given?.source} holds ${typeof document}, allowed is a map`);
}

function refuse(given: SourceData | undefined, problems: readonly string[]): void {
  if (problems.length > 0) throw new InjectError("invalid-settings", `${given?.source}: ${problems.join("; ")}`);
}

function naming<Value>(given: SourceData | undefined, run: () => Value): Value {
  try {
    return run();
  } catch (failure) {
    if (given === undefined) throw failure;
    const text = failure instanceof Error ? failure.message : String(failure);
    throw new InjectError("invalid-settings", `${given.source}: ${text}`, { cause: failure });
  }
}

const TRIAL: Json = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "trial", labels: { app: "trial", "sidecar.istio.io/inject": "true" } },
  spec: { containers: [{ name: "trial", image: "trial" }] },
};

/** Why a plain pod cannot be injected: errors of templates show only when they run. */
function trialProblem(settings: InjectionSettings): string | undefined {
  try {
    mutatePod({ pod: TRIAL, namespace: "default", proxyEnv: {}, openshift: undefined }, settings);
    return undefined;
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure);
  }
}
