import { buildInjectionSettings } from "../../../src/inject/core/build-settings.ts";
import { INJECTION_RULES } from "../../../src/inject/core/rules.ts";
import type { InjectionSettings } from "../../../src/inject/core/settings.ts";
import { CURRENT_PROXY_CONFIG_RULES } from "../../../src/istio-api/proxy-config/proxy-config-rules.ts";

type Input = Parameters<typeof buildInjectionSettings>[0];

/** The settings of an installation that sets nothing but this, of today's release unless `release` says otherwise. */
export function injectionSettings({
  release = "current",
  ...set
}: Partial<Input> & { readonly release?: keyof typeof INJECTION_RULES } = {}): InjectionSettings {
  return buildInjectionSettings({
    config: {},
    values: {},
    meshConfig: {},
    revision: "",
    native: false,
    compliancePolicy: "",
    env: {},
    rules: INJECTION_RULES[release],
    proxyConfigRules: CURRENT_PROXY_CONFIG_RULES,
    ...set,
  });
}
