import { ConfigError } from "./config-error.ts";

/** Product generations whose behaviour can be chosen, newest first. 1.6 and 1.2 read their configuration as 1.7 does. */
export const GENERATIONS = ["master", "1.20", "1.8", "1.7", "1.6", "1.2"] as const;

export type ProxyType = "sidecar" | "router" | "waypoint" | "ztunnel" | "agentgateway";

export type Generation = (typeof GENERATIONS)[number];

/** What differs between generations when configuration is read. Components keep their own differences in `core/generations.ts`. */
export interface GenerationRules {
  readonly name: Generation;
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
  /** --concurrency and --serviceCluster replace whatever the ProxyConfig says, even with their defaults. */
  readonly flagsAlwaysWin: boolean;
  readonly usesCpuLimit: boolean;
  readonly warnsAboutUnlimitedConcurrency: boolean;
  readonly mergesProxyMetadata: boolean;
  readonly mergesProxyHeaders: boolean;
  readonly defaultTracing: boolean;
  /** concurrency 2, parentShutdownDuration 60s and empty metrics and access log services. */
  readonly legacyProxyConfigDefaults: boolean;
  readonly validatesStatusPort: boolean;
  readonly validatesParentShutdown: boolean;
  readonly validatesConnectionSettings: boolean;
  readonly privateKeyProviderPrefix: string;
  readonly missingAnnotationsLevel: "debug" | "warn";
  readonly firstPartyJwt: "as-third-party" | "service-account-token";
  /** An unknown JWT policy keeps the token path. */
  readonly unknownJwtPolicyKeepsToken: boolean;
  readonly caServerNameFromIstiodSan: boolean;
  /** A token file reader exists without asking for one. */
  readonly hasJwtFetcher: boolean;
  readonly caProviders: readonly string[];
  readonly hasStsServer: boolean;
  /** Google's token exchange without a Google project stops the start; otherwise it is as if there were no such plug-in. */
  readonly requiresGcpProject: boolean;
}

const MASTER: GenerationRules = {
  name: "master",
  proxyTypes: ["sidecar", "router", "waypoint", "ztunnel", "agentgateway"],
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
  mergesProxyMetadata: true,
  mergesProxyHeaders: true,
  defaultTracing: false,
  legacyProxyConfigDefaults: false,
  validatesStatusPort: true,
  validatesParentShutdown: false,
  validatesConnectionSettings: true,
  privateKeyProviderPrefix: "invalid private key provider configuration:",
  missingAnnotationsLevel: "debug",
  firstPartyJwt: "as-third-party",
  unknownJwtPolicyKeepsToken: true,
  caServerNameFromIstiodSan: true,
  hasJwtFetcher: true,
  caProviders: ["Citadel", "GkeWorkloadCertificate"],
  hasStsServer: false,
  requiresGcpProject: false,
};

const V1_20: GenerationRules = {
  ...MASTER,
  name: "1.20",
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
  caProviders: ["Citadel", "GkeWorkloadCertificate", "GoogleCA", "GoogleCAS"],
  hasStsServer: true,
  requiresGcpProject: true,
};

const V1_8: GenerationRules = {
  ...V1_20,
  name: "1.8",
  proxyTypes: ["sidecar", "router"],
  requiresGcpProject: false,
};

const V1_7: GenerationRules = {
  ...V1_20,
  name: "1.7",
  proxyTypes: ["sidecar", "router"],
  proxyTypeError: "Invalid role Type: ",
  excludesInterfaces: false,
  hasRegistryFlags: true,
  proxyLogLevel: "warning",
  proxyComponentLogLevel: "misc:error",
  splitsProxyLogLevel: false,
  flagsAlwaysWin: true,
  usesCpuLimit: false,
  mergesProxyMetadata: false,
  mergesProxyHeaders: false,
  legacyProxyConfigDefaults: true,
  validatesStatusPort: false,
  validatesParentShutdown: true,
  missingAnnotationsLevel: "warn",
  caServerNameFromIstiodSan: false,
  hasJwtFetcher: false,
  requiresGcpProject: false,
};

const RULES: Readonly<Record<Generation, GenerationRules>> = {
  master: MASTER,
  "1.20": V1_20,
  "1.8": V1_8,
  "1.7": V1_7,
  "1.6": { ...V1_7, name: "1.6" },
  "1.2": { ...V1_7, name: "1.2" },
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
