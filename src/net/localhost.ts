import { isRoutableIpv6 } from "./ip-mode.ts";

/** Loopback address of Envoy's admin port. */
export function adminLocalhost(role: { readonly isIpv6: boolean }): string {
  return role.isIpv6 ? "::1" : "127.0.0.1";
}

/** Loopback address of the status server and the token server, which also follow an IPv6 INSTANCE_IP. */
export function statusLocalhost(role: { readonly isIpv6: boolean }, instanceIp: string): string {
  return role.isIpv6 || isRoutableIpv6(instanceIp) ? "::1" : "127.0.0.1";
}

/** Source address of application probes, which the captured traffic rules let through. */
export function probeSourceAddress(isIpv6: boolean): string {
  return isIpv6 ? "::6" : "127.0.0.6";
}
