import { deepFreeze } from "../base/deep-freeze.ts";
import { complete } from "../istio-api/kinds.ts";
import { defaultMeshConfig, type LocalityLbSetting, type MeshConfig } from "../istio-api/mesh-config/mesh-config.ts";
import { parseMeshConfig } from "../istio-api/mesh-config/parse-mesh-config.ts";
import { CURRENT_PROXY_CONFIG_RULES } from "../istio-api/proxy-config/proxy-config-rules.ts";
import { parseProtoDuration } from "../protobuf/proto-duration.ts";
import type { MeshSettings, TlsDefaults } from "./mesh-settings.ts";
import { keepsHeaderCase } from "./proxy/header-case.ts";

/** What generators need of a mesh configuration whose defaults are filled in. */
export function buildMeshSettings(config: MeshConfig, domainSuffix = "cluster.local"): MeshSettings {
  return deepFreeze({
    domainSuffix,
    trustDomain: config.trustDomain || "cluster.local",
    trustDomainAliases: config.trustDomainAliases ?? [],
    rootNamespace: config.rootNamespace || "istio-system",
    proxyListenPort: positive(config.proxyListenPort, 15001),
    proxyInboundListenPort: positive(config.proxyInboundListenPort, 15006),
    proxyHttpPort: positive(config.proxyHttpPort, 0),
    connectTimeoutMs: milliseconds(config.connectTimeout, 10_000),
    protocolDetectionTimeoutMs: milliseconds(config.protocolDetectionTimeout, 0),
    dnsRefreshRateMs: milliseconds(config.dnsRefreshRate, 60_000),
    enableAutoMtls: config.enableAutoMtls !== false,
    outboundTrafficPolicy: mode(
      config.outboundTrafficPolicy,
      ["ALLOW_ANY", "REGISTRY_ONLY", "ALLOW_ANY_DYNAMIC_DNS"],
      "REGISTRY_ONLY",
    ),
    ...(config.outboundTrafficPolicy?.tls && {
      unknownHostsTls: complete("istio.networking.v1alpha3.ClientTLSSettings", config.outboundTrafficPolicy.tls),
    }),
    inboundTrafficPolicy: mode(config.inboundTrafficPolicy, ["PASSTHROUGH", "LOCALHOST"], "PASSTHROUGH"),
    localityLb: localityLb(config.localityLbSetting),
    ...(config.zoneAwareLbSetting && {
      zoneAwareLb: complete("istio.networking.v1alpha3.ZoneAwareLoadBalancerSetting", config.zoneAwareLbSetting),
    }),
    defaultTrafficPolicy: complete(
      "istio.mesh.v1alpha1.MeshConfig.DefaultTrafficPolicy",
      config.defaultTrafficPolicy ?? {},
    ),
    tlsDefaults: {
      ecdhCurves: config.tlsDefaults?.ecdhCurves ?? [],
      cipherSuites: config.tlsDefaults?.cipherSuites ?? [],
      ...minimumVersion(config.tlsDefaults),
    },
    meshMtls: { cipherSuites: config.meshMTLS?.cipherSuites ?? [], ...minimumVersion(config.meshMTLS) },
    preservesHeaderCase: keepsHeaderCase(config.defaultConfig) ?? false,
    clusterLocalHosts: (config.serviceSettings ?? [])
      .filter(({ settings }) => settings?.clusterLocal === true)
      .flatMap(({ hosts = [] }) => hosts),
    pathNormalization: config.pathNormalization?.normalization ?? "DEFAULT",
    defaultServiceExportTo: exportTo(config.defaultServiceExportTo),
    defaultVirtualServiceExportTo: exportTo(config.defaultVirtualServiceExportTo),
    defaultDestinationRuleExportTo: exportTo(config.defaultDestinationRuleExportTo),
    accessLog: {
      file: config.accessLogFile ?? "",
      format: config.accessLogFormat ?? "",
      encoding: config.accessLogEncoding === "JSON" ? ("JSON" as const) : ("TEXT" as const),
    },
    proxyHeaders: config.defaultConfig?.proxyHeaders ?? {},
    ...(config.defaultHttpRetryPolicy && {
      defaultRetries: complete("istio.networking.v1alpha3.HTTPRetry", config.defaultHttpRetryPolicy),
    }),
    quicListeners: false,
    persistentSessions: false,
    source: structuredClone(config),
  });
}

export interface MeshParseOptions {
  readonly domainSuffix?: string;
  /** Named in problems. */
  readonly source?: string;
  /** The reader of YAML, which may be in another thread. */
  readonly parse?: Parameters<typeof parseMeshConfig>[4];
}

/** A mesh file over the defaults. With a problem, the settings hold what could be used. */
export function parseMeshSettings(
  yaml: string,
  { source = "mesh config", ...options }: MeshParseOptions = {},
): Promise<ParsedMesh> {
  return parseMeshLayers([{ text: yaml, source }], options);
}

export interface ParsedMesh {
  readonly settings: MeshSettings;
  readonly problem?: string;
}

/** One of several texts that make up a mesh config. */
export interface MeshLayer {
  readonly text: string;
  /** Named in problems. */
  readonly source: string;
}

/** Each layer over those before it, the first over the defaults. Ends at the first one with a problem. */
export async function parseMeshLayers(
  layers: readonly MeshLayer[],
  { domainSuffix = "cluster.local", parse }: Omit<MeshParseOptions, "source"> = {},
): Promise<ParsedMesh & { readonly source?: string }> {
  const rules = CURRENT_PROXY_CONFIG_RULES;
  let config = defaultMeshConfig(rules);
  for (const { text, source } of layers) {
    const parsed = await parseMeshConfig(text, config, source, rules, parse);
    config = parsed.config;
    if (parsed.problem !== undefined)
      return { settings: buildMeshSettings(config, domainSuffix), problem: parsed.problem.text, source };
  }
  return { settings: buildMeshSettings(config, domainSuffix) };
}

/** The settings of a mesh without configuration. */
export function defaultMeshSettings(domainSuffix = "cluster.local"): MeshSettings {
  return buildMeshSettings(defaultMeshConfig(CURRENT_PROXY_CONFIG_RULES), domainSuffix);
}

/** Nothing for TLS_AUTO, which leaves it to the side that asks. */
function minimumVersion({ minProtocolVersion }: MeshConfig["tlsDefaults"] = {}): Pick<TlsDefaults, "minimumVersion"> {
  if (minProtocolVersion === "TLSV1_3") return { minimumVersion: "TLSv1_3" };
  return minProtocolVersion === "TLSV1_2" ? { minimumVersion: "TLSv1_2" } : {};
}

function positive(value = 0, whenAbsent = 0): number {
  return value > 0 ? value : whenAbsent;
}

function milliseconds(value: string | undefined, whenAbsent: number): number {
  return value === undefined ? whenAbsent : Number(parseProtoDuration(value) / 1_000_000n);
}

/** A policy without mode means the first of its enum; a policy that is absent means the mesh's default, which comes first here. */
function mode<Mode extends string>(
  policy: { readonly mode?: string } | undefined,
  modes: readonly [Mode, ...Mode[]],
  zero: Mode,
): Mode {
  return policy === undefined ? modes[0] : (modes.find((candidate) => candidate === policy.mode) ?? zero);
}

/** Locality load balancing is on by default. */
function localityLb(setting: LocalityLbSetting | undefined): LocalityLbSetting {
  return { ...setting, enabled: setting?.enabled ?? true };
}

function exportTo(namespaces: readonly string[] = []): readonly string[] {
  return namespaces.length === 0 ? ["*"] : namespaces;
}
