import type { Logger } from "../base/logger.ts";
import type { DnsServerOptions } from "../dns/index.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import type { ProxyRole } from "./role/read-role.ts";

export type DnsSettings = Omit<DnsServerOptions, "log" | "metrics" | "signal">;

/** Undefined when DNS is not captured. `asRoot`: the agent may own port 53. */
export function readDnsSettings(
  env: EnvReader,
  role: ProxyRole,
  rules: GenerationRules,
  asRoot: boolean,
  log: Logger,
): DnsSettings | undefined {
  const isCaptured = role.type === "sidecar" && env.bool("ISTIO_META_DNS_CAPTURE");
  // Up to 1.7 any text captures DNS; without a name table the server only forwards.
  const isRelay = env.string("DNS_AGENT") !== "";
  const isServed = isCaptured || isRelay || env.bool("ISTIO_META_ENABLE_DNS_SERVER");
  if (isRelay) {
    log.warn(
      "DNS_AGENT: all names are resolved by the servers of resolv.conf; istiod is not asked over TLS, so *.global names are unknown",
    );
  }
  // Read in any case: a value that does not parse is warned about.
  const settings: DnsSettings = Object.freeze({
    listen: env.string("DNS_PROXY_ADDR"),
    proxyNamespace: env.string("POD_NAMESPACE"),
    proxyDomain: role.dnsDomain,
    asRoot,
    forwardMode: env.bool("DNS_FORWARD_PARALLEL") ? "parallel" : "sequential",
    forwardTimeoutMs: env.durationMs("DNS_FORWARD_TIMEOUT"),
    threads: env.int("DNS_PROXY_THREADS"),
    rules: rules.dns,
    ...(isRelay && { forwardsBeforeSync: true }),
  });
  return isServed ? settings : undefined;
}
