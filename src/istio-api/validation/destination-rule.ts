import type { ConfigObject } from "../config-object.ts";
import type { DestinationRuleSpec } from "../specs.ts";
import { wildcardDomainProblem } from "../values/dns-name.ts";
import { subsetNameReason } from "./destination.ts";
import { validateExportTo } from "./export-to.ts";
import { validateLabels, validateSelector } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { validateTrafficPolicy } from "./traffic-policy.ts";

/** How traffic to a host is treated once it is routed there. */
export function validateDestinationRule(report: Report, { spec, namespace }: ConfigObject<"DestinationRule">): void {
  const hasSelector = spec.workloadSelector !== undefined;
  report.error(wildcardDomainProblem(spec.host), "host");
  if (spec.workloadSelector !== undefined) {
    validateSelector(report.at("workloadSelector", "matchLabels"), spec.workloadSelector.matchLabels);
  }
  validateTrafficPolicy(report.at("trafficPolicy"), spec.trafficPolicy, hasSelector);
  validateSubsets(report, spec, hasSelector);
  validateExportTo(report, spec.exportTo, { namespace, kind: "DestinationRule", hasSelector });
}

function validateSubsets(report: Report, { subsets }: DestinationRuleSpec, hasSelector: boolean): void {
  const names = new Set<string>();
  each(report, "subsets", subsets, (at, { name, labels, trafficPolicy }) => {
    at.error(names.has(name) ? `duplicate subset names: ${name}` : undefined, "name");
    names.add(name);
    at.error(subsetNameReason(name), "name");
    validateLabels(at.at("labels"), labels);
    validateTrafficPolicy(at.at("trafficPolicy"), trafficPolicy, hasSelector);
  });
}
