import { posix } from "node:path";
import type { KeepaliveOptions } from "../grpc/index.ts";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { splitHostPort } from "../net/host-port.ts";
import type { ProxySettings } from "../net/http-proxy/proxy-route.ts";
import type { UpstreamOptions, UpstreamTlsOptions, XdsProxyOptions } from "../xds-proxy/index.ts";
import type { CertificateSources } from "./certificate-sources.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import { type FileExists, xdsRootCa } from "./root-ca.ts";

/** The options of the xDS proxy and of what belongs to it; the composition root adds live objects. */
export interface XdsSettings {
  readonly proxy: Pick<
    XdsProxyOptions,
    "socketPath" | "maxReceiveBytes" | "maxStreams" | "downstreamKeepalive" | "clusterId"
  >;
  readonly upstream: Pick<UpstreamOptions, "address" | "headers" | "keepalive" | "connectTimeoutMs" | "compression">;
  /** Undefined: plaintext. */
  readonly tls: UpstreamTlsOptions | undefined;
  /** 0 when the debug tap is off, or the generation is older than it. */
  readonly tapPort: number;
  /** false: Envoy talks to the control plane itself. */
  readonly viaAgent: boolean;
  readonly dynamicProxyConfig: boolean;
  /** Streams carry the access token that the workload's token is exchanged for. */
  readonly exchangesTokens: boolean;
  readonly bootstrapViaXds: boolean;
  /** Directory of the last known good configuration; "" keeps none. */
  readonly lastGoodDirectory: string;
}

const LOCAL_SERVER_NAME = "istiod.istio-system.svc";
const CONNECT_TIMEOUT_MS = 5000;
/**
 * With a look every quarter of it, and ten seconds for the answer, a dead control plane is noticed within half a minute. Not less:
 * control planes end connections that ping more often than that.
 */
const MAX_PING_INTERVAL_MS = 15_000;
const MIN_PING_INTERVAL_MS = 10_000;
const MAX_PING_TIMEOUT_MS = 10_000;
const MIN_CLIENT_PING_INTERVAL_MS = 1000;
const MIN_RECEIVE_BYTES = 64 * 1024 * 1024;

export function readXdsSettings(
  env: EnvReader,
  proxyConfig: ProxyConfig,
  rules: Pick<GenerationRules, "exchangesXdsTokens">,
  sources: Omit<CertificateSources, "certificateFiles">,
  exists: FileExists,
): XdsSettings {
  const { discoveryAddress: address = "", proxyMetadata = {} } = proxyConfig;
  const mutualTls = proxyConfig.controlPlaneAuthPolicy === "MUTUAL_TLS";
  const hasTap = env.applies("PROXY_XDS_DEBUG_VIA_AGENT") && env.bool("PROXY_XDS_DEBUG_VIA_AGENT");
  const clusterId = env.string("ISTIO_META_CLUSTER_ID");
  const configured = env.string("XDS_ROOT_CA");
  return {
    proxy: {
      socketPath: posix.join(proxyConfig.configPath ?? "", "XDS"),
      maxReceiveBytes: Math.max(env.int("ISTIO_GPRC_MAXRECVMSGSIZE"), MIN_RECEIVE_BYTES),
      maxStreams: env.int("ISTIO_GPRC_MAXSTREAMS"),
      downstreamKeepalive: downstreamKeepalive(env),
      clusterId,
    },
    upstream: {
      address,
      headers: { ClusterID: clusterId, ...env.withPrefix("XDS_HEADER_") },
      keepalive: upstreamKeepalive(env),
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      compression: env.bool("XDS_COMPRESSION"),
    },
    tls: mutualTls
      ? {
          serverName: xdsServerName(address, env.string("ISTIOD_SAN")),
          root: xdsRootCa({ configured, sources, proxyMetadata }, exists),
          client: clientFiles(sources, proxyMetadata),
          compliancePolicy: env.string("COMPLIANCE_POLICY"),
        }
      : undefined,
    tapPort: hasTap ? env.int("PROXY_XDS_DEBUG_VIA_AGENT_PORT") : 0,
    viaAgent: env.bool("PROXY_XDS_VIA_AGENT"),
    exchangesTokens: rules.exchangesXdsTokens && env.string("XDS_AUTH_PROVIDER") === "gcp",
    dynamicProxyConfig: env.bool("PROXY_CONFIG_XDS_AGENT"),
    bootstrapViaXds: env.bool("BOOTSTRAP_XDS_AGENT"),
    lastGoodDirectory: env.string("XDS_LAST_GOOD"),
  };
}

/** A control plane on this machine still presents the name it has in the cluster. */
export function xdsServerName(discoveryAddress: string, override: string): string {
  if (override !== "") return override;
  const split = splitHostPort(discoveryAddress);
  const host = "problem" in split ? discoveryAddress : split.host;
  return host.includes("localhost") ? LOCAL_SERVER_NAME : host;
}

function clientFiles(
  { provCert, fileMountedCerts }: Pick<CertificateSources, "provCert" | "fileMountedCerts">,
  proxyMetadata: Readonly<Record<string, string>>,
): UpstreamTlsOptions["client"] {
  if (provCert !== "") return { chain: posix.join(provCert, "cert-chain.pem"), key: posix.join(provCert, "key.pem") };
  if (!fileMountedCerts) return undefined;
  const { ISTIO_META_TLS_CLIENT_CERT_CHAIN: chain, ISTIO_META_TLS_CLIENT_KEY: key } = proxyMetadata;
  return chain && key ? { chain, key } : undefined;
}

/** Never so seldom that a death is noticed late, never so often that the control plane takes it for an attack. */
export function upstreamKeepalive(env: Pick<EnvReader, "durationMs">): KeepaliveOptions {
  const { intervalMs, timeoutMs } = askedKeepalive(env);
  return {
    intervalMs: Math.max(MIN_PING_INTERVAL_MS, Math.min(intervalMs, MAX_PING_INTERVAL_MS)),
    timeoutMs: Math.min(timeoutMs > 0 ? timeoutMs : MAX_PING_TIMEOUT_MS, MAX_PING_TIMEOUT_MS),
  };
}

/** Towards clients of this machine what was asked for holds, down to the least that gRPC servers do; nothing stays nothing. */
function downstreamKeepalive(env: EnvReader): KeepaliveOptions {
  const { intervalMs, timeoutMs } = askedKeepalive(env);
  return {
    intervalMs: intervalMs > 0 ? Math.max(intervalMs, MIN_CLIENT_PING_INTERVAL_MS) : 0,
    timeoutMs: Math.max(timeoutMs, 0),
  };
}

function askedKeepalive(env: Pick<EnvReader, "durationMs">) {
  return { intervalMs: env.durationMs("GRPC_KEEPALIVE_INTERVAL"), timeoutMs: env.durationMs("GRPC_KEEPALIVE_TIMEOUT") };
}

/** Proxies for connections of the agent's own. */
export function readProxySettings(env: EnvReader): ProxySettings {
  return Object.freeze({
    httpProxy: env.string("HTTP_PROXY") || env.string("http_proxy"),
    httpsProxy: env.string("HTTPS_PROXY") || env.string("https_proxy"),
    allProxy: env.string("ALL_PROXY") || env.string("all_proxy"),
    noProxy: env.string("NO_PROXY") || env.string("no_proxy"),
  });
}
