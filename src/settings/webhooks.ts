import { existsSync } from "node:fs";
import type { Logger } from "../base/logger.ts";
import { parseNativeSidecarMode } from "../inject/index.ts";
import type { WebhookSettings } from "./discovery-settings.ts";
import { createEnvReader, type Environment } from "./env-reader.ts";
import { chooseGeneration } from "./generations.ts";
import { injectionRules } from "./inject.ts";

/** Where an installation without a cluster's ConfigMap mounts them. */
const USUAL = { config: "./var/lib/istio/inject/config", values: "./var/lib/istio/inject/values" };

/** What API servers are answered, from environment and files in their usual place; `files` are those of flags. */
export function readWebhookSettings(
  environment: Environment,
  log: Logger,
  files?: WebhookSettings["injectionFiles"],
  exists: (path: string) => boolean = existsSync,
): WebhookSettings {
  const env = createEnvReader(environment, "master", () => undefined); // warned about at the start of every command
  const generation = chooseGeneration(environment.PILOT_AGENT_GENERATION);
  const rules = injectionRules(generation);
  const { mode, warning } = parseNativeSidecarMode(environment.ENABLE_NATIVE_SIDECARS, rules);
  if (warning !== undefined) log.warn(warning);
  const usual = exists(USUAL.config) ? { ...USUAL, values: exists(USUAL.values) ? USUAL.values : "" } : undefined;
  const injectionFiles = files ?? usual;
  return {
    injects: env.bool("INJECT_ENABLED"),
    ...(injectionFiles !== undefined && { injectionFiles }),
    patchesInjection: env.string("INJECTION_WEBHOOK_CONFIG_NAME") !== "",
    patchesValidation: env.string("VALIDATION_WEBHOOK_CONFIG_NAME") !== "",
    nativeSidecars: mode,
    isOpenshift: env.string("PLATFORM") === "openshift",
    compliancePolicy: env.string("COMPLIANCE_POLICY"),
    environment,
    rules,
    proxyConfigRules: generation,
  };
}
