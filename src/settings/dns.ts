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
): DnsSettings | undefined {
  const isCaptured = role.type === "sidecar" && env.bool("ISTIO_META_DNS_CAPTURE");
  const isServed = isCaptured || env.bool("ISTIO_META_ENABLE_DNS_SERVER");
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
  });
  return isServed ? settings : undefined;
}
