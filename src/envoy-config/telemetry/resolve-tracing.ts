import type { TelemetryTracing } from "../../istio-api/specs.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import type { ProxyTracing } from "../../mesh-model/proxy/read-listening.ts";
import { defaultProviders, type TelemetryLayer } from "../../mesh-model/telemetry.ts";
import { isFor, type ReportingMode, type Said, speaker } from "./said.ts";

/** What one side of calls is to report as spans. */
export interface TracingChoice {
  /** Undefined: the tracer that the proxy's bootstrap has. */
  readonly provider: string | undefined;
  readonly isDisabled: boolean;
  readonly samplingPercentage: number;
  readonly customTags: TelemetryTracing["customTags"];
  readonly usesRequestId: boolean;
  readonly hasMeshTags: boolean;
  readonly propagates: boolean;
  /** 0: Envoy's own limit. */
  readonly maxTagLength: number;
}

export interface ResolvedTracing {
  /** Undefined: no object asks for spans. */
  readonly choice: TracingChoice | undefined;
  readonly said: readonly Said[];
}

/** Of every hundred requests that bring no decision along, where no object says otherwise. */
const USUAL_SAMPLING = 1;

/**
 * Outer layers first; what an inner one says takes the place of what was said before it. Without any Telemetry object or default provider
 * the proxy's own configuration counts, whose tracer is in its bootstrap.
 */
export function resolveTracing(
  mode: ReportingMode,
  layers: readonly TelemetryLayer[],
  { source }: Pick<MeshSettings, "source">,
  own: ProxyTracing | undefined,
): ResolvedTracing {
  const said: Said[] = [];
  const entries = layers.flatMap((layer) => layer.object.spec.tracing.map((entry, at) => ({ layer, entry, at })));
  const defaults = defaultProviders(source, "tracing");
  const fallback = ownChoice(own, said);
  if (entries.length === 0 && defaults.length === 0) {
    const isOn = own?.hasTracer === true && source.enableTracing !== false;
    if (own?.hasTracer === true) {
      const by = { level: "mesh settings" as const, path: ["enableTracing"] };
      if (!isOn) said.push({ subject: "spans", value: "off", by });
      said.push({ subject: "provider", value: "the tracer of the proxy's bootstrap", by: OWN("tracing") });
    }
    return { choice: isOn ? { ...fallback, provider: undefined } : undefined, said };
  }
  let provider = defaults[0];
  if (provider !== undefined) {
    said.push({
      subject: "provider",
      value: provider,
      by: { level: "mesh settings", path: ["defaultProviders", "tracing"] },
    });
  }
  let choice: Omit<TracingChoice, "provider"> = fallback;
  for (const { layer, entry, at } of entries) {
    if (!isFor(mode, entry.match)) continue;
    const say = (subject: string, value: string, member: string) =>
      said.push({ subject, value, by: speaker(layer, "tracing", at, member) });
    const [named] = entry.providers;
    if (named !== undefined) {
      provider = named.name;
      say("provider", named.name, "providers");
    }
    const { disableSpanReporting, randomSamplingPercentage, useRequestIdForTraceSampling } = entry;
    const { enableIstioTags, disableContextPropagation, customTags } = entry;
    if (disableSpanReporting !== undefined) say("spans", disableSpanReporting ? "off" : "on", "disableSpanReporting");
    if (randomSamplingPercentage !== undefined) {
      say("random sampling", `${randomSamplingPercentage} %`, "randomSamplingPercentage");
    }
    const tags = Object.keys(customTags);
    if (tags.length > 0) say("custom tags", tags.join(", "), "customTags");
    if (useRequestIdForTraceSampling !== undefined) {
      say("sampling by request id", String(useRequestIdForTraceSampling), "useRequestIdForTraceSampling");
    }
    if (enableIstioTags !== undefined) say("istio.* tags", String(enableIstioTags), "enableIstioTags");
    if (disableContextPropagation !== undefined) {
      say("context headers", disableContextPropagation ? "off" : "on", "disableContextPropagation");
    }
    choice = {
      ...choice,
      ...(disableSpanReporting !== undefined && { isDisabled: disableSpanReporting }),
      ...(randomSamplingPercentage !== undefined && { samplingPercentage: randomSamplingPercentage }),
      ...(tags.length > 0 && { customTags }),
      ...(useRequestIdForTraceSampling !== undefined && { usesRequestId: useRequestIdForTraceSampling }),
      ...(enableIstioTags !== undefined && { hasMeshTags: enableIstioTags }),
      ...(disableContextPropagation !== undefined && { propagates: !disableContextPropagation }),
    };
  }
  return { choice: { ...choice, provider: provider ?? "" }, said };
}

const OWN = (...path: readonly string[]) => ({ level: "proxy configuration" as const, path });

/** What the proxy's own configuration says; Telemetry objects go before it, member by member. */
function ownChoice(own: ProxyTracing | undefined, said: Said[]): Omit<TracingChoice, "provider"> {
  const { sampling = 0, customTags = {}, maxTagLength = 0, hasMeshTags = true } = own ?? {};
  const isSaid = sampling > 0 && sampling <= 100;
  const samplingPercentage = isSaid ? sampling : USUAL_SAMPLING;
  said.push({
    subject: "random sampling",
    value: `${samplingPercentage} %`,
    by: isSaid ? OWN("tracing", "sampling") : { level: "built-in", path: [] },
  });
  return {
    isDisabled: false,
    samplingPercentage,
    customTags,
    usesRequestId: true,
    hasMeshTags,
    propagates: true,
    maxTagLength,
  };
}
