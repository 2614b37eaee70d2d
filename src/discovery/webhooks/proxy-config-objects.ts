import { type ConfigObject, compareAge } from "../../istio-api/config-object.ts";
import { applyProxyConfig } from "../../istio-api/proxy-config/apply-proxy-config.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import type { ProxyConfigRules } from "../../istio-api/proxy-config/proxy-config-rules.ts";

export interface Workload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * A ProxyConfig with that of ProxyConfig objects over it: of the root namespace, of the workload's namespace, and of the workload. Of
 * several of one rank the oldest counts.
 */
export function effectiveProxyConfig(
  base: ProxyConfig,
  { namespace, labels }: Workload,
  objects: readonly ConfigObject<"ProxyConfig">[],
  { rootNamespace, rules }: { readonly rootNamespace: string; readonly rules: ProxyConfigRules },
): ProxyConfig {
  const isFor = ({ spec }: ConfigObject<"ProxyConfig">) =>
    Object.entries(spec.selector?.matchLabels ?? {}).every(([name, value]) => labels[name] === value);
  const hasSelector = ({ spec }: ConfigObject<"ProxyConfig">) =>
    Object.keys(spec.selector?.matchLabels ?? {}).length > 0;
  const of = (where: string) => objects.filter((object) => object.namespace === where).toSorted(compareAge);
  const own = of(namespace);
  const ranks = [
    namespace === rootNamespace ? undefined : of(rootNamespace).find((object) => !hasSelector(object)),
    own.find((object) => !hasSelector(object)),
    own.find((object) => hasSelector(object) && isFor(object)),
  ];
  return ranks.reduce((config, object) => (object === undefined ? config : overlay(config, object, rules)), base);
}

function overlay(base: ProxyConfig, { spec }: ConfigObject<"ProxyConfig">, rules: ProxyConfigRules): ProxyConfig {
  const { concurrency, environmentVariables, image } = spec;
  const document = {
    ...(concurrency !== undefined && { concurrency }),
    ...(Object.keys(environmentVariables).length > 0 && { proxyMetadata: environmentVariables }),
    ...(image !== undefined && { image: { imageType: image.imageType } }),
  };
  return applyProxyConfig(base, document, rules).config;
}
