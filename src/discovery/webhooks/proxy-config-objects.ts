import { type ConfigObject, compareAge } from "../../istio-api/config-object.ts";
import { applyProxyConfig } from "../../istio-api/proxy-config/apply-proxy-config.ts";
import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import type { ProxyConfigRules } from "../../istio-api/proxy-config/proxy-config-rules.ts";

export interface Workload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What ProxyConfig objects change in the ProxyConfig of a workload: the pod's annotation lies between the two. */
export interface ProxyConfigLayers {
  /** Of the root namespace, then of the workload's. */
  shared(config: ProxyConfig): ProxyConfig;
  /** Of the one that selects the workload. */
  own(config: ProxyConfig): ProxyConfig;
}

/** The layers of a workload; of several objects of one rank the oldest counts. */
export function proxyConfigLayers(
  { namespace, labels }: Workload,
  objects: readonly ConfigObject<"ProxyConfig">[],
  { rootNamespace, rules }: { readonly rootNamespace: string; readonly rules: ProxyConfigRules },
): ProxyConfigLayers {
  const isFor = ({ spec }: ConfigObject<"ProxyConfig">) =>
    Object.entries(spec.selector?.matchLabels ?? {}).every(([name, value]) => labels[name] === value);
  const hasSelector = ({ spec }: ConfigObject<"ProxyConfig">) =>
    Object.keys(spec.selector?.matchLabels ?? {}).length > 0;
  const of = (where: string) => objects.filter((object) => object.namespace === where).toSorted(compareAge);
  const near = of(namespace);
  const ofMesh = namespace === rootNamespace ? undefined : of(rootNamespace).find((object) => !hasSelector(object));
  const ofNamespace = near.find((object) => !hasSelector(object));
  const ofWorkload = near.find((object) => hasSelector(object) && isFor(object));
  return {
    shared: (config) => overlay(overlay(config, ofMesh, rules), ofNamespace, rules),
    own: (config) => overlay(config, ofWorkload, rules),
  };
}

function overlay(
  base: ProxyConfig,
  object: ConfigObject<"ProxyConfig"> | undefined,
  rules: ProxyConfigRules,
): ProxyConfig {
  if (object === undefined) return base;
  const { concurrency, environmentVariables, image } = object.spec;
  const document = {
    ...(concurrency !== undefined && { concurrency }),
    ...(Object.keys(environmentVariables).length > 0 && { proxyMetadata: environmentVariables }),
    ...(image !== undefined && { image: { imageType: image.imageType } }),
  };
  return applyProxyConfig(base, document, rules).config;
}
