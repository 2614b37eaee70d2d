import { BOOTSTRAP_RULES, type BootstrapRules } from "../bootstrap/index.ts";
import { DNS_RULES, type DnsRules } from "../dns/index.ts";
import { type EnvoyRules, envoyRules } from "../envoy/index.ts";
import { CURRENT_PROXY_CONFIG_RULES, type ProxyConfigRules } from "../istio-api/proxy-config/proxy-config-rules.ts";
import { STATUS_RULES, type StatusRules } from "../status/index.ts";
import { FALLBACK_RULES, type FallbackRules } from "../wasm/index.ts";
import { HEALTH_RULES, type HealthRules } from "../workload-health/index.ts";
import { PROXY_TYPES, type ProxyType } from "../xds/service-node.ts";
import { ConfigError } from "./config-error.ts";
import { GENERATIONS, type Generation } from "./environment-variable.ts";

export { GENERATIONS, type Generation } from "./environment-variable.ts";

/** A product generation: how its configuration is read, and the rules that each component has for it. */
export interface GenerationRules extends ProxyConfigRules {
  readonly name: Generation;
  /** The release it behaves as, for the node's ISTIO_VERSION. */
  readonly release: string;
  readonly proxyTypes: readonly ProxyType[];
  /** Text before the wrong node type. */
  readonly proxyTypeError: string;
  readonly excludesInterfaces: boolean;
  readonly exclusionMayRemoveInstanceIp: boolean;
  /** Flags --ip, --id, --serviceregistry, --trust-domain and --mixerIdentity have a meaning. */
  readonly hasRegistryFlags: boolean;
  readonly proxyLogLevel: string;
  readonly proxyComponentLogLevel: string;
  readonly splitsProxyLogLevel: boolean;
  readonly tokenManagerPlugin: string;
  /** --concurrency and --serviceCluster replace what the ProxyConfig says, even with their defaults. */
  readonly flagsAlwaysWin: boolean;
  readonly usesCpuLimit: boolean;
  readonly warnsAboutUnlimitedConcurrency: boolean;
  readonly missingAnnotationsLevel: "debug" | "warn";
  readonly firstPartyJwt: "as-third-party" | "service-account-token";
  /** An unknown JWT policy keeps the token path. */
  readonly unknownJwtPolicyKeepsToken: boolean;
  readonly caServerNameFromIstiodSan: boolean;
  /** A token file reader exists without asking for one. */
  readonly hasJwtFetcher: boolean;
  /** The token's subject names the workload where no variable does. */
  readonly identityFromToken: boolean;
  readonly awsIdentityDocument: boolean;
  /** Envoy gets its configuration through the agent. */
  readonly servesXds: boolean;
  /** A debug tap whose port is taken ends the start. */
  readonly requiresTap: boolean;
  /** A changed client certificate or root ends the streams to the control plane, which come back with it. */
  readonly resetsXdsOnCertificates: boolean;
  /** Without a root certificate the CA is asked in plaintext, or with the system's roots; otherwise the start fails. */
  readonly hasPlainCaFallback: boolean;
  /** A gateway's own certificates come from Kubernetes secrets, over a socket of their own. */
  readonly hasGatewaySds: boolean;
  /** `legacy`: one socket of the agent's own; otherwise what is served beside an external SDS server. */
  readonly sds: "legacy" | "serve-files" | "serve-nothing";
  /** `XDS_AUTH_PROVIDER=gcp` trades the token of xDS streams. */
  readonly exchangesXdsTokens: boolean;
  /** `PILOT_CERT_PROVIDER=kubernetes`: the cluster's own CA has signed the certificates of control plane and CA. */
  readonly hasKubernetesRoots: boolean;
  /** Google's token exchange without a Google project stops the start; otherwise it is as if there were no such plug-in. */
  readonly requiresGcpProject: boolean;
  /** The federated token comes from Google's older endpoint and for the trust domain, not for the subject token's namespace. */
  readonly oldFederatedToken: boolean;
  readonly bootstrap: BootstrapRules;
  readonly dns: DnsRules;
  readonly envoy: EnvoyRules;
  readonly health: HealthRules;
  readonly status: StatusRules;
  readonly wasm: FallbackRules;
}

const MASTER: GenerationRules = {
  ...CURRENT_PROXY_CONFIG_RULES,
  name: "master",
  release: "1.31",
  proxyTypes: PROXY_TYPES,
  proxyTypeError: "invalid proxy Type: ",
  excludesInterfaces: true,
  exclusionMayRemoveInstanceIp: false,
  hasRegistryFlags: false,
  proxyLogLevel: "warning",
  proxyComponentLogLevel: "",
  splitsProxyLogLevel: true,
  tokenManagerPlugin: "",
  flagsAlwaysWin: false,
  usesCpuLimit: true,
  warnsAboutUnlimitedConcurrency: true,
  missingAnnotationsLevel: "debug",
  firstPartyJwt: "as-third-party",
  unknownJwtPolicyKeepsToken: true,
  caServerNameFromIstiodSan: true,
  hasJwtFetcher: true,
  identityFromToken: false,
  awsIdentityDocument: false,
  servesXds: true,
  // This one has no tap of its own, and several agents on one machine must work without it.
  requiresTap: false,
  resetsXdsOnCertificates: false,
  hasPlainCaFallback: false,
  hasGatewaySds: false,
  sds: "serve-files",
  exchangesXdsTokens: false,
  hasKubernetesRoots: false,
  requiresGcpProject: false,
  oldFederatedToken: false,
  bootstrap: BOOTSTRAP_RULES.master,
  dns: DNS_RULES.master,
  envoy: envoyRules("master"),
  health: HEALTH_RULES.master,
  status: STATUS_RULES.master,
  wasm: FALLBACK_RULES.master,
};

const V1_20: GenerationRules = {
  ...MASTER,
  name: "1.20",
  release: "1.20",
  proxyTypes: ["sidecar", "router", "waypoint", "ztunnel"],
  proxyTypeError: "Invalid proxy Type: ",
  exclusionMayRemoveInstanceIp: true,
  proxyLogLevel: "warning,misc:error",
  tokenManagerPlugin: "GoogleTokenExchange",
  warnsAboutUnlimitedConcurrency: false,
  defaultTracing: true,
  validatesConnectionSettings: false,
  privateKeyProviderPrefix: "invalid private key provider confguration:", // spelled so in that release
  firstPartyJwt: "service-account-token",
  unknownJwtPolicyKeepsToken: false,
  requiresTap: true,
  sds: "serve-nothing",
  exchangesXdsTokens: true,
  hasKubernetesRoots: true,
  requiresGcpProject: true,
  bootstrap: BOOTSTRAP_RULES["1.20"],
  dns: DNS_RULES["1.20"],
  envoy: envoyRules("1.20"),
  health: HEALTH_RULES["1.20"],
  status: STATUS_RULES["1.20"],
  wasm: FALLBACK_RULES["1.20"],
};

const V1_8: GenerationRules = {
  ...V1_20,
  name: "1.8",
  release: "1.8",
  proxyTypes: ["sidecar", "router"],
  proxyLogLevel: "warning",
  proxyComponentLogLevel: "misc:error",
  splitsProxyLogLevel: false,
  flagsAlwaysWin: true,
  legacyProxyConfigDefaults: true,
  validatesParentShutdown: true,
  resetsXdsOnCertificates: true,
  hasGatewaySds: true,
  sds: "legacy",
  requiresGcpProject: false,
  bootstrap: BOOTSTRAP_RULES["1.8"],
  dns: DNS_RULES["1.8"],
  envoy: envoyRules("1.8"),
  health: HEALTH_RULES["1.8"],
  status: STATUS_RULES["1.8"],
};

const V1_7: GenerationRules = {
  ...V1_8,
  name: "1.7",
  release: "1.7",
  proxyTypeError: "Invalid role Type: ",
  excludesInterfaces: false,
  hasRegistryFlags: true,
  usesCpuLimit: false,
  mergesProxyMetadata: false,
  mergesProxyHeaders: false,
  validatesStatusPort: false,
  missingAnnotationsLevel: "warn",
  caServerNameFromIstiodSan: false,
  hasJwtFetcher: false,
  identityFromToken: true,
  awsIdentityDocument: true,
  servesXds: false,
  hasPlainCaFallback: true,
  oldFederatedToken: true,
  bootstrap: BOOTSTRAP_RULES["1.7"],
  envoy: envoyRules("1.7"),
  status: STATUS_RULES["1.7"],
};

const V1_6: GenerationRules = {
  ...V1_7,
  name: "1.6",
  release: "1.6",
  bootstrap: BOOTSTRAP_RULES["1.6"],
  envoy: envoyRules("1.6"),
};

const V1_2: GenerationRules = {
  ...V1_6,
  name: "1.2",
  release: "1.2",
  envoy: envoyRules("1.2"),
};

const RULES: Readonly<Record<Generation, GenerationRules>> = {
  master: MASTER,
  "1.20": V1_20,
  "1.8": V1_8,
  "1.7": V1_7,
  "1.6": V1_6,
  "1.2": V1_2,
};

/** The generation named by PILOT_AGENT_GENERATION; absent or empty is master. */
export function chooseGeneration(text: string | undefined): GenerationRules {
  const name = text === undefined || text === "" ? "master" : text;
  const known = GENERATIONS.find((generation) => generation === name);
  if (known !== undefined) return RULES[known];
  const allowed = GENERATIONS.join(", ");
  throw new ConfigError("unknown-generation", `PILOT_AGENT_GENERATION is "${name}", allowed are ${allowed}`, [
    {
      source: "environment variable PILOT_AGENT_GENERATION",
      message: "unknown generation",
      value: name,
      allowed,
    },
  ]);
}

export function generationRules(name: Generation): GenerationRules {
  return RULES[name];
}
