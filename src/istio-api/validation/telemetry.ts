import type { TelemetryAccessLogging, TelemetryMetrics, TelemetrySpec, TelemetryTracing } from "../specs.ts";
import { celProblem } from "./cel-problem.ts";
import { validateSelector } from "./labels.ts";
import { each, type Report } from "./report.ts";
import { validateTargetRefs } from "./target-ref.ts";

/** What proxies report of the traffic. */
export function validateTelemetry(report: Report, spec: TelemetrySpec): void {
  validateSelector(report.at("selector", "matchLabels"), spec.selector?.matchLabels ?? {});
  validateTargetRefs(report, spec);
  each(report, "accessLogging", spec.accessLogging, validateLogging);
  each(report, "metrics", spec.metrics, validateMetrics);
  each(report, "tracing", spec.tracing, validateTracing);
}

function validateLogging(report: Report, { providers, filter }: TelemetryAccessLogging): void {
  validateProviders(report, providers);
  if (filter === undefined) return;
  report.error(
    filter.expression === "" ? "expression must not be empty" : celProblem(filter.expression),
    "filter",
    "expression",
  );
}

function validateProviders(report: Report, providers: TelemetryAccessLogging["providers"]): void {
  each(report, "providers", providers, (at, { name }) => {
    at.error(name === "" ? "providers.name may not be empty" : undefined, "name");
  });
}

function validateTracing(
  report: Report,
  { providers, randomSamplingPercentage = 0, customTags }: TelemetryTracing,
): void {
  validateProviders(report, providers);
  if (randomSamplingPercentage < 0 || randomSamplingPercentage > 100) {
    report.error("randomSamplingPercentage must be in range [0.0, 100.0]", "randomSamplingPercentage");
  }
  for (const [name, { literal, header, environment }] of Object.entries(customTags)) {
    const at = report.at("customTags", name);
    at.error(name === "" ? "tag name may not be empty" : undefined);
    at.error(literal?.value === "" ? "literal tag value may not be empty" : undefined, "literal");
    at.error(header?.name === "" ? "header tag name may not be empty" : undefined, "header");
    at.error(environment?.name === "" ? "environment tag name may not be empty" : undefined, "environment");
  }
}

function validateMetrics(report: Report, { providers, overrides, reportingInterval }: TelemetryMetrics): void {
  validateProviders(report, providers);
  // Whoever wrote it must not believe that it is in force.
  if (reportingInterval !== undefined) {
    report.warn(
      "reportingInterval has no effect: connections are counted when they open and close",
      "reportingInterval",
    );
  }
  each(report, "overrides", overrides, (at, { match, tagOverrides }) => {
    if ((match?.customMetric ?? "") !== "") {
      at.warn("customMetric has no effect: Envoy counts the standard metrics", "match", "customMetric");
    }
    at.error(match?.customMetric === "" ? "customMetric may not be empty" : undefined, "match", "customMetric");
    for (const [name, { operation, value }] of Object.entries(tagOverrides)) {
      if (operation === "UPSERT" && value === "") {
        at.error("tagOverrides.value must be set when operation is UPSERT", "tagOverrides", name);
      }
      if (operation === "UPSERT" && value !== "") at.error(celProblem(value), "tagOverrides", name);
      if (operation === "REMOVE" && value !== "") {
        at.error("tagOverrides.value may only be set when operation is UPSERT", "tagOverrides", name);
      }
    }
  });
}
