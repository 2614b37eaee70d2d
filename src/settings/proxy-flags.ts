import type { GenerationRules } from "./generations.ts";

/** Flags of `proxy` as the command line gives them; the command fills the values, `changed` lists those given explicitly. */
export interface ProxyFlags {
  readonly domain: string;
  readonly meshConfig: string;
  readonly stsPort: number;
  readonly tokenManagerPlugin: string;
  readonly serviceCluster: string;
  readonly proxyLogLevel: string;
  readonly proxyComponentLogLevel: string;
  readonly concurrency: number;
  readonly templateFile: string;
  readonly outlierLogPath: string;
  readonly console: string;
  readonly profiling: boolean;
  readonly logAsJson: boolean;
  /** Generations with registry flags only. */
  readonly serviceregistry: string;
  readonly ip: string;
  readonly id: string;
  readonly trustDomain: string;
  readonly mixerIdentity: string;
  readonly disableInternalTelemetry: boolean;
  readonly changed: ReadonlySet<string>;
}

/** What the flags are when the command line is empty. */
export function defaultProxyFlags(rules: GenerationRules): ProxyFlags {
  return {
    domain: "",
    meshConfig: "./etc/istio/config/mesh",
    stsPort: 0,
    tokenManagerPlugin: rules.tokenManagerPlugin,
    serviceCluster: "istio-proxy",
    proxyLogLevel: rules.proxyLogLevel,
    proxyComponentLogLevel: rules.proxyComponentLogLevel,
    concurrency: 0,
    templateFile: "",
    outlierLogPath: "",
    console: "",
    profiling: true,
    logAsJson: false,
    serviceregistry: "Kubernetes",
    ip: "",
    id: "",
    trustDomain: "",
    mixerIdentity: "",
    disableInternalTelemetry: false,
    changed: new Set(),
  };
}
