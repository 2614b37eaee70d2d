import { isJsonObject } from "../../base/json-object.ts";
import { describeDecodeProblems } from "../../istio-api/config-problem.ts";
import { applyMeshConfig, defaultMeshConfig } from "../../istio-api/mesh-config/parse-mesh-config.ts";
import type { ProxyConfigRules } from "../../istio-api/proxy-config/proxy-config-rules.ts";
import { InjectError } from "../inject-error.ts";
import { gatewayTemplate } from "./builtin/gateway.ts";
import { grpcAgentTemplate } from "./builtin/grpc-agent.ts";
import { grpcSimpleTemplate } from "./builtin/grpc-simple.ts";
import { sidecarTemplate } from "./builtin/sidecar.ts";
import type { PodTemplate } from "./context.ts";
import { defaultValues } from "./default-values.ts";
import { asList, asObject, type Json, objects, textMap } from "./json.ts";
import { canBeNative } from "./native-sidecar.ts";
import type { InjectionRules } from "./rules.ts";
import type { InjectionSettings } from "./settings.ts";
import { textTemplate } from "./templates/text-template.ts";
import { overlayValues, Values } from "./values.ts";

/** The templates that need no text; a user's template of the same name replaces one. */
const BUILTIN_TEMPLATES: ReadonlyMap<string, PodTemplate> = new Map([
  ["sidecar", sidecarTemplate],
  ["gateway", gatewayTemplate],
  ["grpc-simple", grpcSimpleTemplate],
  ["grpc-agent", grpcAgentTemplate],
]);

export interface SettingsInput {
  /** The injection config: policy, selectors, templates. Without templates the built-in ones are used. */
  readonly config: Json;
  /** Over the built-in values. */
  readonly values: Json;
  /** Over the built-in mesh configuration. */
  readonly meshConfig: unknown;
  readonly revision: string;
  readonly native: boolean;
  readonly compliancePolicy: string;
  readonly env: InjectionSettings["env"];
  readonly rules: InjectionRules;
  readonly proxyConfigRules: ProxyConfigRules;
}

/** Checks and connects what an installation configures; rejects with the name of what is wrong. */
export function buildInjectionSettings(input: SettingsInput): InjectionSettings {
  const { config, rules, proxyConfigRules } = input;
  const values = new Values(overlayValues(defaultValues(rules), input.values));
  const { config: mesh, problems } = applyMeshConfig(
    defaultMeshConfig(proxyConfigRules),
    input.meshConfig,
    proxyConfigRules,
  );
  if (problems.length > 0) {
    throw new InjectError("invalid-settings", `mesh configuration: ${describeDecodeProblems(problems)}`);
  }
  const webhook = asObject(values.get("sidecarInjectorWebhook"));
  const defaults = [...asList(config.defaultTemplates), ...asList(webhook.defaultTemplates)].map(String);
  return {
    ...templatesOf(input, webhook.templates),
    defaultTemplates: defaults.length > 0 ? defaults : ["sidecar"],
    aliases: Object.fromEntries(
      Object.entries(asObject(config.aliases)).map(([name, names]) => [name, asList(names).map(String)]),
    ),
    policy: typeof config.policy === "string" ? config.policy : "enabled",
    neverInjectSelector: objects(config.neverInjectSelector),
    alwaysInjectSelector: objects(config.alwaysInjectSelector),
    injectedAnnotations: textMap(config.injectedAnnotations),
    values,
    mesh,
    revision: input.revision,
    native: canBeNative(rules) && input.native,
    compliancePolicy: input.compliancePolicy,
    env: input.env,
    rules,
    proxyConfigRules,
  };
}

/** Templates of the config replace the built-in set; templates of the values are added to either. */
function templatesOf(input: SettingsInput, added: unknown): Pick<InjectionSettings, "templates" | "templateTexts"> {
  const given = asObject(input.config.templates);
  const templateTexts = new Map<string, string>();
  const templates = new Map(Object.keys(given).length > 0 ? [] : BUILTIN_TEMPLATES);
  for (const [name, source] of [...Object.entries(given), ...Object.entries(isJsonObject(added) ? added : {})]) {
    if (typeof source !== "string") {
      throw new InjectError("invalid-settings", `template "${name}" is ${JSON.stringify(source)}, allowed is text`);
    }
    templates.set(name, textTemplate(name, source, input));
    templateTexts.set(name, source);
  }
  return { templates, templateTexts };
}
