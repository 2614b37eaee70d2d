import type { EnvReader } from "../env-reader.ts";
import type { ProxyRole } from "../role/read-role.ts";

export interface DnsConfig {
  readonly enabled: boolean;
  /** `host:port`; what it resolves to is the server's business. */
  readonly listenAddress: string;
  readonly forwardParallel: boolean;
  readonly forwardTimeoutMs: number;
  /** Threads that answer over UDP. */
  readonly threads: number;
  readonly proxyNamespace: string;
  readonly proxyDomain: string;
  /** Old DNS-over-TLS agent; undefined unless the generation has one and DNS_AGENT is set. */
  readonly legacyAgent:
    | { readonly mode: string; readonly listenAddress: string; readonly upstream: string }
    | undefined;
}

export function readDnsConfig(env: EnvReader, role: ProxyRole): DnsConfig {
  const captured = role.type === "sidecar" && env.bool("ISTIO_META_DNS_CAPTURE");
  const mode = env.applies("DNS_AGENT") ? env.string("DNS_AGENT") : "";
  return Object.freeze({
    enabled: captured || env.bool("ISTIO_META_ENABLE_DNS_SERVER"),
    listenAddress: env.string("DNS_PROXY_ADDR"),
    forwardParallel: env.bool("DNS_FORWARD_PARALLEL"),
    forwardTimeoutMs: env.durationMs("DNS_FORWARD_TIMEOUT"),
    threads: env.int("DNS_PROXY_THREADS"),
    proxyNamespace: env.string("POD_NAMESPACE"),
    proxyDomain: role.dnsDomain,
    legacyAgent:
      mode === ""
        ? undefined
        : Object.freeze({ mode, listenAddress: env.string("DNS_ADDR"), upstream: env.string("DNS_SERVER") }),
  });
}
