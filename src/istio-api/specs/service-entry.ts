import { type Infer, list, map, message, oneOf, string, uint32 } from "../schema/schema.ts";
import { NETWORK_SELECTOR } from "./common.ts";

export const WORKLOAD_ENTRY = message("workload entry", {
  address: string,
  ports: map(uint32),
  labels: map(string),
  network: string,
  locality: string,
  weight: uint32,
  serviceAccount: string,
});
export interface WorkloadEntrySpec extends Infer<typeof WORKLOAD_ENTRY> {}

export const SERVICE_PORT = message("service entry port", {
  number: uint32,
  protocol: string,
  name: string,
  targetPort: uint32,
});
export interface ServiceEntryPort extends Infer<typeof SERVICE_PORT> {}

export const SERVICE_ENTRY = message("service entry", {
  hosts: list(string),
  addresses: list(string),
  ports: list(SERVICE_PORT),
  location: oneOf("MESH_EXTERNAL", "MESH_INTERNAL"),
  resolution: oneOf("NONE", "STATIC", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"),
  endpoints: list(WORKLOAD_ENTRY),
  workloadSelector: NETWORK_SELECTOR,
  exportTo: list(string),
  subjectAltNames: list(string),
});
export interface ServiceEntrySpec extends Infer<typeof SERVICE_ENTRY> {}
