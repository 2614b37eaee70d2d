import type { Service } from "../../mesh-model/service.ts";

/** Of Services, ServiceEntries, and of namespaces for all their services. */
export const TRAFFIC_DISTRIBUTION = "networking.istio.io/traffic-distribution";

/** How far calls go. `Any` is an answer as well: what is said on a higher level then does not count. */
export type TrafficDistribution = NonNullable<Service["trafficDistribution"]> | "Any";

/** The first name is an old one. */
const DISTRIBUTIONS: ReadonlyMap<string, TrafficDistribution> = new Map([
  ["preferclose", "PreferSameZone"],
  ["prefersamezone", "PreferSameZone"],
  ["prefersamenode", "PreferSameNode"],
] as const);

/** What an annotation says; undefined without one. A value that is not known means any endpoint. */
export function parseTrafficDistribution(text = ""): TrafficDistribution | undefined {
  return text === "" ? undefined : (knownDistribution(text) ?? "Any");
}

/** Undefined for a value that is not known. */
export function knownDistribution(text: string): TrafficDistribution | undefined {
  return DISTRIBUTIONS.get(text.toLowerCase());
}
