import type { ProxyConfig } from "../../istio-api/proxy-config/proxy-config.ts";
import { hostOf } from "./socket-address.ts";

/** The names the control plane's certificate may have: the host of the discovery address, when it is checked at all. */
export function pilotSubjectAltNames(config: ProxyConfig): readonly string[] {
  if (config.controlPlaneAuthPolicy !== "MUTUAL_TLS") return [];
  const host = hostOf(config.discoveryAddress ?? "");
  return [host === "localhost" ? "istiod.istio-system.svc" : host];
}
