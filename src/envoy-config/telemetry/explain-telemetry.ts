import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import { inboundMetrics, outboundMetrics, resolveInboundMetrics, resolveOutboundMetrics } from "./metrics.ts";
import { METRICS, type ResolvedMetrics } from "./resolve-metrics.ts";
import type { ResolvedTracing } from "./resolve-tracing.ts";
import type { ReportingMode, Said } from "./said.ts";
import { resolveInboundTracing, resolveOutboundTracing, tracerProblem } from "./tracing.ts";

/** What is reported about calls in one direction, and who decided it. */
export interface ExplainedTelemetry {
  readonly what: "spans" | "metrics";
  readonly mode: ReportingMode;
  readonly isOn: boolean;
  /** Why it is off, or what is missing although it is on. */
  readonly reasons: readonly string[];
  /** In the order in which it was said: of several about one subject the last is in force. */
  readonly said: readonly (Said & { readonly isInForce: boolean })[];
}

/** "No spans", "no metrics": why. */
export function explainTelemetry(view: ProxyView): readonly ExplainedTelemetry[] {
  const isRouter = view.node.type === "router";
  return [
    explainTracing("CLIENT", resolveOutboundTracing(view.outbound), view),
    // Routers report as callers alone.
    ...(isRouter ? [] : [explainTracing("SERVER", resolveInboundTracing(view), view)]),
    explainMetrics("CLIENT", resolveOutboundMetrics(view.outbound), outboundMetrics(view.outbound).problems),
    ...(isRouter ? [] : [explainMetrics("SERVER", resolveInboundMetrics(view), inboundMetrics(view).problems)]),
  ];
}

function explainTracing(mode: ReportingMode, { choice, said }: ResolvedTracing, view: ProxyView): ExplainedTelemetry {
  const reasons: string[] = [];
  if (choice === undefined) {
    const isOff = said.some(({ subject, value }) => subject === "spans" && value === "off");
    reasons.push(
      isOff
        ? "the mesh settings have enableTracing: false"
        : "nobody asks for them: there is no Telemetry object with tracing, no default provider (defaultProviders.tracing) and no tracer in the proxy configuration",
    );
  } else {
    if (choice.isDisabled) reasons.push("span reporting is disabled");
    if (choice.samplingPercentage === 0) {
      reasons.push("random sampling is 0 %: only requests whose caller has decided for a trace are reported");
    }
    const problem = choice.provider === undefined ? undefined : tracerProblem(view.outbound, choice.provider);
    if (problem !== undefined) reasons.push(`provider ${JSON.stringify(choice.provider)}: ${problem}`);
    return {
      what: "spans",
      mode,
      isOn: !choice.isDisabled && problem === undefined,
      reasons,
      said: marked(said),
    };
  }
  return { what: "spans", mode, isOn: false, reasons, said: marked(said) };
}

function explainMetrics(
  mode: ReportingMode,
  resolved: ResolvedMetrics,
  problems: readonly string[],
): ExplainedTelemetry {
  const { providers, metrics, said } = resolved;
  const off = [...metrics].filter(([, { isDisabled }]) => isDisabled).map(([metric]) => METRICS[metric]);
  const isUnasked = providers.length === 0;
  const unusable = problems.filter((problem) => problem.startsWith("metrics provider")).length;
  const reasons = [
    ...(isUnasked
      ? ["nobody asks for them: no Telemetry object and no default (defaultProviders.metrics) names a provider"]
      : []),
    ...(off.length > 0 ? [`disabled: ${off.length === metrics.size ? "all" : off.join(", ")}`] : []),
    ...problems,
  ];
  return {
    what: "metrics",
    mode,
    isOn: !isUnasked && unusable < providers.length && off.length < metrics.size,
    reasons,
    said: marked(said),
  };
}

function marked(said: readonly Said[]): ExplainedTelemetry["said"] {
  return said.map((one, at) => ({
    ...one,
    isInForce: said.findLastIndex(({ subject }) => subject === one.subject) === at,
  }));
}
