import { posix } from "node:path";
import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { splitHostPort } from "../net/host-port.ts";
import { isLocalAddress } from "../net/ip-mode.ts";
import type { EnvReader } from "./env-reader.ts";

export interface XdsConfig {
  readonly discoveryAddress: string;
  /** TLS with the control plane, its root watched. */
  readonly mutualTls: boolean;
  /** Unix socket Envoy connects to. */
  readonly socketPath: string;
  readonly headers: Readonly<Record<string, string>>;
  /** XDS_ROOT_CA: a path, SYSTEM, or empty. */
  readonly rootCa: string;
  readonly istiodSan: string;
  /** Expected name in the control plane's certificate; empty without mutual TLS. */
  readonly pilotSan: readonly string[];
  readonly clusterId: string;
  readonly delta: boolean;
  readonly keepaliveIntervalMs: number;
  readonly keepaliveTimeoutMs: number;
  readonly maxStreams: number;
  readonly maxReceiveBytes: number;
  /** 0 when the debug tap is off, or the generation is older than it. */
  readonly tapPort: number;
  readonly sendTimeoutMs: number;
  /** false: Envoy talks to the control plane itself. */
  readonly viaAgent: boolean;
  readonly dynamicProxyConfig: boolean;
  readonly bootstrapViaXds: boolean;
  /** Proxy for the connection to the control plane; "" for none. */
  readonly httpsProxy: string;
  readonly noProxy: string;
  /** Directory of the last known good configuration; "" keeps none. */
  readonly lastGoodDirectory: string;
  /** Whether the control plane is asked to compress. */
  readonly compression: boolean;
}

const SERVER_NAME = "istiod.istio-system.svc";

export function readXdsConfig(env: EnvReader, proxyConfig: ProxyConfig): XdsConfig {
  const { discoveryAddress = "" } = proxyConfig;
  const mutualTls = proxyConfig.controlPlaneAuthPolicy === "MUTUAL_TLS";
  const hasTap = env.applies("PROXY_XDS_DEBUG_VIA_AGENT") && env.bool("PROXY_XDS_DEBUG_VIA_AGENT");
  return Object.freeze({
    discoveryAddress,
    mutualTls,
    socketPath: posix.join(proxyConfig.configPath ?? "", "XDS"),
    headers: env.withPrefix("XDS_HEADER_"),
    rootCa: env.string("XDS_ROOT_CA"),
    istiodSan: env.string("ISTIOD_SAN"),
    pilotSan: Object.freeze(mutualTls ? [pilotSan(discoveryAddress)] : []),
    clusterId: env.string("ISTIO_META_CLUSTER_ID"),
    delta: env.bool("ISTIO_DELTA_XDS"),
    keepaliveIntervalMs: env.durationMs("GRPC_KEEPALIVE_INTERVAL"),
    keepaliveTimeoutMs: env.durationMs("GRPC_KEEPALIVE_TIMEOUT"),
    maxStreams: env.int("ISTIO_GPRC_MAXSTREAMS"),
    maxReceiveBytes: env.int("ISTIO_GPRC_MAXRECVMSGSIZE"),
    tapPort: hasTap ? env.int("PROXY_XDS_DEBUG_VIA_AGENT_PORT") : 0,
    sendTimeoutMs: env.durationMs("PILOT_XDS_SEND_TIMEOUT"),
    viaAgent: env.bool("PROXY_XDS_VIA_AGENT"),
    dynamicProxyConfig: env.bool("PROXY_CONFIG_XDS_AGENT"),
    bootstrapViaXds: env.bool("BOOTSTRAP_XDS_AGENT"),
    httpsProxy: env.string("HTTPS_PROXY") || env.string("https_proxy"),
    noProxy: env.string("NO_PROXY") || env.string("no_proxy"),
    lastGoodDirectory: env.string("XDS_LAST_GOOD"),
    compression: env.bool("XDS_COMPRESSION"),
  });
}

/** The host of the discovery address; the control plane on this host still presents its cluster name. */
export function pilotSan(discoveryAddress: string): string {
  const split = splitHostPort(discoveryAddress);
  const host = "problem" in split ? (discoveryAddress.split(":")[0] ?? "") : split.host;
  return host === "localhost" || isLocalAddress(host) ? SERVER_NAME : host;
}
