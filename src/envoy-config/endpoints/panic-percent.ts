import type { Service } from "../../mesh-model/service.ts";
import type { EffectivePolicy } from "../traffic-policy.ts";

/** Of how many healthy endpoints all are used, as the rule says. A service whose near endpoints come first needs to know which are well. */
export function panicPercent(
  { outlierDetection }: Pick<EffectivePolicy, "outlierDetection">,
  { trafficDistribution }: Pick<Service, "trafficDistribution">,
): number {
  return trafficDistribution === undefined ? (outlierDetection?.minHealthPercent ?? 0) : 0;
}
