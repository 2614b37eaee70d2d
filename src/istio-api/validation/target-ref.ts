import type { TargetRef } from "../specs.ts";
import type { Report } from "./report.ts";

interface Aim {
  readonly selector?: object;
  readonly targetRef?: TargetRef;
  readonly targetRefs: readonly TargetRef[];
}

/** By group and kind; the empty group is that of Kubernetes itself. */
const TARGETS = new Set([
  "/Service",
  "core/Service",
  "networking.istio.io/ServiceEntry",
  "gateway.networking.k8s.io/Gateway",
  "gateway.networking.k8s.io/GatewayClass",
]);

/** A policy is for workloads by their labels, or for named things in front of them. */
export function validateTargetRefs(report: Report, { selector, targetRef, targetRefs }: Aim): void {
  const ways = [selector !== undefined, targetRef !== undefined, targetRefs.length > 0];
  if (ways.filter(Boolean).length > 1) report.error("only one of targetRefs or workloadSelector can be set");
  if (targetRef !== undefined) validateTargetRef(report.at("targetRef"), targetRef);
  targetRefs.forEach((ref, index) => {
    validateTargetRef(report.at("targetRefs", index), ref);
  });
}

function validateTargetRef(report: Report, { group, kind, name, namespace }: TargetRef): void {
  if (name === "") report.error("targetRef name must be set", "name");
  if (namespace !== "") {
    report.error("targetRef namespace must not be set; cross namespace referencing is not supported", "namespace");
  }
  if (TARGETS.has(`${group}/${kind}`)) return;
  report.error(`targetRef must be to one of ${[...TARGETS].slice(1).join(", ")} but was ${group}/${kind}`);
}
