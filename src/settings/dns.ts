import type { Logger } from "../base/logger.ts";
import type { DnsServerOptions } from "../dns/index.ts";
import { splitHostPort } from "../net/host-port.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import type { ProxyRole } from "./role/read-role.ts";
import type { RootCa } from "./root-ca.ts";

export interface RelaySources {
  readonly discoveryAddress: string;
  /** Where the root certificate of the control plane is. */
  readonly root: RootCa;
}

export type DnsSettings = Omit<DnsServerOptions, "log" | "metrics" | "signal">;

/** Undefined when DNS is not captured. `asRoot`: the agent may own port 53. */
export function readDnsSettings(
  env: EnvReader,
  role: ProxyRole,
  rules: GenerationRules,
  asRoot: boolean,
  relaySources: RelaySources,
  log: Logger,
): DnsSettings | undefined {
  const isCaptured = role.type === "sidecar" && env.bool("ISTIO_META_DNS_CAPTURE");
  // Up to 1.7 any text captures DNS; there is no name table, the control plane itself is asked.
  const isRelay = env.string("DNS_AGENT") !== "";
  const isServed = isCaptured || isRelay || env.bool("ISTIO_META_ENABLE_DNS_SERVER");
  const relay = isRelay ? readRelay(env.string("DNS_SERVER"), role, relaySources, log) : undefined;
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
    ...(relay && { relay }),
  });
  return isServed ? settings : undefined;
}

const CONTROL_PLANE = "istiod.istio-system.svc";
const DNS_TLS_PORT = 853;

/** Undefined, with a warning, where the control plane could not be verified: its names then are not resolved. */
function readRelay(
  override: string,
  { dnsDomain }: Pick<ProxyRole, "dnsDomain">,
  { discoveryAddress, root }: RelaySources,
  log: Logger,
): DnsServerOptions["relay"] {
  if ("problem" in root || root.path === "") {
    log.warn(
      `DNS_AGENT: names of the mesh are not resolved: ${"problem" in root ? root.problem : "no root certificate"}`,
    );
    return undefined;
  }
  const target = overriddenServer(override, log) ?? controlPlaneServer(discoveryAddress, log);
  return { ...target, suffixes: ["global.", `${clusterSuffix(dnsDomain).toLowerCase()}.`], rootFile: root.path };
}

/** `tcp-tls:host:port` */
function overriddenServer(text: string, log: Logger) {
  if (text === "") return undefined;
  const split = splitHostPort(text.replace(/^tcp-tls:/, ""));
  const port = "problem" in split ? 0 : Number(split.port);
  if (text.startsWith("tcp-tls:") && !("problem" in split) && split.host !== "" && port > 0 && port < 65_536)
    return { host: split.host, port, serverName: serverNameOf(split.host) };
  log.warn(`DNS_SERVER is "${text}", allowed is tcp-tls:host:port; the control plane is asked`);
  return undefined;
}

/** The port is the one of DNS over TLS, except on this machine, where tests have the control plane. */
function controlPlaneServer(discoveryAddress: string, log: Logger) {
  const split = splitHostPort(discoveryAddress);
  if ("problem" in split) {
    log.error(`DNS_AGENT: discovery address ${split.problem}, using ${CONTROL_PLANE}`);
    return { host: CONTROL_PLANE, port: DNS_TLS_PORT, serverName: CONTROL_PLANE };
  }
  const port = split.host === LOCAL_HOST ? Number(split.port) : DNS_TLS_PORT;
  return { host: split.host, port, serverName: serverNameOf(split.host) };
}

const LOCAL_HOST = "127.0.0.1";

function serverNameOf(host: string): string {
  return host === LOCAL_HOST ? CONTROL_PLANE : host;
}

/** What follows the namespace and "svc" in the proxy's domain. */
function clusterSuffix(dnsDomain: string): string {
  const labels = dnsDomain.split(".");
  return labels.length > 3 ? labels.slice(2).join(".") : "cluster.local";
}
