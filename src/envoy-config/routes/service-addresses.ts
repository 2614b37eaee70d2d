import type { ScopeTraits } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";

/**
 * The single addresses by which proxies of these traits reach a service; ranges are none. A service without any has the allocated
 * ones, where the proxy's agent answers DNS and so makes them known.
 */
export function serviceAddresses(
  service: Service,
  traits: Pick<ScopeTraits, "dnsCapture" | "dnsAutoAllocate" | "ipv4" | "ipv6">,
): readonly string[] {
  if (service.addresses.length > 0) return service.addresses.flatMap(singleAddress);
  if (service.autoAllocated === undefined || !traits.dnsCapture || !traits.dnsAutoAllocate) return [];
  const { ipv4, ipv6 } = service.autoAllocated;
  return traits.ipv6 ? [...(traits.ipv4 ? [ipv4] : []), ipv6] : [ipv4];
}

function singleAddress(address: string): readonly string[] {
  const [ip = "", bits] = address.split("/");
  const isSingle = bits === undefined || bits === (ip.includes(":") ? "128" : "32");
  return isSingle && ip !== "0.0.0.0" && ip !== "::" ? [ip] : [];
}
