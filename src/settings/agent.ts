import type { EnvReader } from "./env-reader.ts";
import type { ProxyFlags } from "./proxy-flags.ts";
import type { ProxyRole } from "./role/read-role.ts";

/** What the composition root itself decides by. */
export interface AgentOptions {
  readonly proxyType: ProxyRole["type"];
  readonly serviceNode: string;
  readonly ipAddresses: readonly string[];
  readonly isIpv6: boolean;
  readonly namespace: string;
  readonly dnsDomain: string;
  readonly grpcBootstrapPath: string;
  readonly disableEnvoy: boolean;
  readonly dynamicProxyConfig: boolean;
  /** null: follow HBONE. */
  readonly metadataDiscovery: boolean | null;
  readonly enableHbone: boolean;
  readonly enableSelfDiscovery: boolean;
  /** HTTP port of the token server, or what node metadata publishes; 0 is none. */
  readonly stsPort: number;
  readonly iptablesTraceLogging: boolean;
}

export function readAgentOptions(env: EnvReader, flags: ProxyFlags, role: ProxyRole): AgentOptions {
  return Object.freeze({
    proxyType: role.type,
    serviceNode: role.serviceNode,
    ipAddresses: role.ipAddresses,
    isIpv6: role.isIpv6,
    namespace: env.string("POD_NAMESPACE"),
    dnsDomain: role.dnsDomain,
    grpcBootstrapPath: env.string("GRPC_XDS_BOOTSTRAP"),
    disableEnvoy: env.bool("DISABLE_ENVOY"),
    dynamicProxyConfig: env.bool("PROXY_CONFIG_XDS_AGENT"),
    metadataDiscovery: env.isSet("PEER_METADATA_DISCOVERY") ? env.bool("PEER_METADATA_DISCOVERY") : null,
    enableHbone: env.bool("ISTIO_META_ENABLE_HBONE"),
    enableSelfDiscovery: env.bool("ISTIO_META_ENABLE_SELF_DISCOVERY"),
    stsPort: flags.stsPort,
    iptablesTraceLogging: env.bool("IPTABLES_TRACE_LOGGING"),
  });
}
