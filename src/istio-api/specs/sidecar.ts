import { type Infer, list, message, oneOf, string, uint32 } from "../schema/schema.ts";
import { CONNECTION_POOL, DESTINATION, NETWORK_SELECTOR, SERVER_TLS } from "./common.ts";

const PORT = message("sidecar port", { number: uint32, protocol: string, name: string, targetPort: uint32 });
export interface SidecarPort extends Infer<typeof PORT> {}

const CAPTURE_MODE = oneOf("DEFAULT", "IPTABLES", "NONE");

const INGRESS = message("ingress listener", {
  port: PORT,
  bind: string,
  captureMode: CAPTURE_MODE,
  defaultEndpoint: string,
  tls: SERVER_TLS,
  connectionPool: CONNECTION_POOL,
});
export interface SidecarIngress extends Infer<typeof INGRESS> {}

const EGRESS = message("egress listener", { port: PORT, bind: string, captureMode: CAPTURE_MODE, hosts: list(string) });
export interface SidecarEgress extends Infer<typeof EGRESS> {}

const OUTBOUND_POLICY = message("outbound traffic policy", {
  mode: oneOf("REGISTRY_ONLY", "ALLOW_ANY"),
  egressProxy: DESTINATION,
});
export interface OutboundTrafficPolicy extends Infer<typeof OUTBOUND_POLICY> {}

export const SIDECAR = message("sidecar", {
  workloadSelector: NETWORK_SELECTOR,
  ingress: list(INGRESS),
  egress: list(EGRESS),
  inboundConnectionPool: CONNECTION_POOL,
  outboundTrafficPolicy: OUTBOUND_POLICY,
});
export interface SidecarSpec extends Infer<typeof SIDECAR> {}
