import { isWildcard } from "../../istio-api/values/hostname.ts";
import type { ScopeTraits } from "../../mesh-model/push-snapshot.ts";
import { addressesIn, type Service } from "../../mesh-model/service.ts";
import { bracketHost } from "../../net/host-port.ts";
import { isIP } from "../../net/ip.ts";

/**
 * How domains are spelled: `plain` where the port of a request's host is ignored, `with-port` where virtual hosts of several ports
 * stand side by side, `both` where either may come.
 */
export type PortForm = "plain" | "with-port" | "both";

/** Names of a host that is not a service: the full one, the same as an absolute name, and shorter ones. Envoy compares in lower case. */
function hostDomains(host: string, callerDomain: string): readonly string[] {
  const name = host.toLowerCase();
  if (isIP(name) !== 0) return [bracketHost(name)];
  return [name, `${name}.`, ...shortNames(name, callerDomain.toLowerCase())];
}

/** Names and addresses of a service. A headless service of Kubernetes has a name for each of its pods, too. */
export function serviceDomains(service: Service, traits: ScopeTraits): readonly string[] {
  const names = [service.hostname, ...(service.aliases ?? [])].flatMap((host) => hostDomains(host, traits.dnsDomain));
  const hasPods = service.resolution === "Passthrough" && service.provider === "Kubernetes";
  return [
    ...names,
    ...(hasPods ? names.map((name) => `*.${name}`) : []),
    ...serviceAddresses(service, traits).map(bracketHost),
  ];
}

export function withPort(domains: readonly string[], port: number, form: PortForm): readonly string[] {
  if (form === "plain") return domains;
  if (form === "with-port") return domains.map((domain) => `${domain}:${port}`);
  return domains.flatMap((domain) => [domain, `${domain}:${port}`]);
}

/** Further names under which callers of a domain know a host: what their resolver's search list would complete. */
export function shortNames(host: string, callerDomain: string): readonly string[] {
  if (isWildcard(host)) return [];
  const service = callerDomain.indexOf(SERVICE_PART);
  return service < 0 ? bySharedSuffix(host, callerDomain) : byNamespace(host, callerDomain, service);
}

const SERVICE_PART = ".svc.";

/** Kubernetes style: `web`, `web.prod` and `web.prod.svc` for `web.prod.svc.cluster.local`; the first only beside the service. */
function byNamespace(host: string, callerDomain: string, service: number): readonly string[] {
  const suffix = callerDomain.slice(service);
  const end = host.length - suffix.length;
  const dot = host.indexOf(".");
  if (!host.endsWith(suffix) || dot <= 0 || dot >= end) return [];
  const short = host.slice(0, end);
  return short.slice(dot + 1) === callerDomain.slice(0, service)
    ? [host.slice(0, dot), `${short}.svc`, short]
    : [short, `${short}.svc`];
}

/** Other networks: what remains of the host without the end that it shares with the caller's domain. */
function bySharedSuffix(host: string, callerDomain: string): readonly string[] {
  const own = host.split(".");
  const domain = callerDomain.split(".");
  let shared = 0;
  while (shared < Math.min(own.length, domain.length) && own.at(-1 - shared) === domain.at(-1 - shared)) shared += 1;
  const unique = own.slice(0, own.length - shared);
  if (shared === 0 || unique.length === 0) return [];
  const name = unique.join(".");
  // `foo.local` of `foo.local.campus.net` is also looked for one step up.
  return unique.length === 2 ? [name, `${name}.${own[2]}`] : [name];
}

/**
 * The single addresses by which proxies of these traits reach a service; ranges are none. A service without any has the allocated
 * ones, where the proxy's agent answers DNS and so makes them known.
 */
export function serviceAddresses(
  service: Service,
  traits: Pick<ScopeTraits, "dnsCapture" | "dnsAutoAllocate" | "ipv4" | "ipv6" | "clusterId">,
): readonly string[] {
  const own = addressesIn(service, traits.clusterId);
  if (own.length > 0) return own.flatMap(singleAddress);
  if (service.autoAllocated === undefined || !traits.dnsCapture || !traits.dnsAutoAllocate) return [];
  const { ipv4, ipv6 } = service.autoAllocated;
  return traits.ipv6 ? [...(traits.ipv4 ? [ipv4] : []), ipv6] : [ipv4];
}

function singleAddress(address: string): readonly string[] {
  const [ip = "", bits] = address.split("/");
  const isSingle = bits === undefined || bits === (ip.includes(":") ? "128" : "32");
  return isSingle && ip !== "0.0.0.0" && ip !== "::" ? [ip] : [];
}
