import { isIP, isIPv6 } from "node:net";
import type { ScopeTraits } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import { serviceAddresses } from "./service-addresses.ts";
import { shortNames } from "./short-names.ts";

/**
 * How domains are spelled: `plain` where the port of a request's host is ignored, `with-port` where virtual hosts of several ports
 * stand side by side, `both` where either may come.
 */
export type PortForm = "plain" | "with-port" | "both";

/** Names of a host that is no service: the full one, the same as an absolute name, and shorter ones. Envoy compares in lower case. */
export function hostDomains(host: string, callerDomain: string): readonly string[] {
  const name = host.toLowerCase();
  if (isIP(name) !== 0) return [addressDomain(name)];
  return [name, `${name}.`, ...shortNames(name, callerDomain.toLowerCase())];
}

/** Names and addresses of a service. A headless service of Kubernetes has a name for each of its pods, too. */
export function serviceDomains(service: Service, traits: ScopeTraits): readonly string[] {
  const names = hostDomains(service.hostname, traits.dnsDomain);
  const hasPods = service.resolution === "Passthrough" && service.provider === "Kubernetes";
  return [
    ...names,
    ...(hasPods ? names.map((name) => `*.${name}`) : []),
    ...serviceAddresses(service, traits).map(addressDomain),
  ];
}

export function addressDomain(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}

export function withPort(domains: readonly string[], port: number, form: PortForm): readonly string[] {
  if (form === "plain") return domains;
  if (form === "with-port") return domains.map((domain) => `${domain}:${port}`);
  return domains.flatMap((domain) => [domain, `${domain}:${port}`]);
}
