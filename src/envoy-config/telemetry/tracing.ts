import { compareText } from "../../istio-api/config-object.ts";
import type { ExtensionProvider } from "../../istio-api/mesh-config/mesh-config.ts";
import type { TelemetryTracing } from "../../istio-api/specs.ts";
import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";
import { type ProxyTracing, proxyTracing } from "../../mesh-model/proxy/read-listening.ts";
import type { OutboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { HttpConnectionManager } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { CustomTag } from "../../protobuf/gen/envoy/type/tracing/v3.ts";
import { inboundLayers, outboundLayers } from "../access-log/telemetry.ts";
import { findProviderServer } from "../shared/cluster-name.ts";
import { meshTags } from "./local-workload.ts";
import { type ResolvedTracing, resolveTracing, type TracingChoice } from "./resolve-tracing.ts";
import type { ReportingMode } from "./said.ts";
import { buildTracer, type Tracer } from "./tracer.ts";

/** Tracing of the HTTP managers of one direction. */
export interface ManagerTracing {
  readonly settings: Pick<HttpConnectionManager, "tracing" | "requestIdExtension">;
  /** What an object asks for and cannot be had. */
  readonly problems: readonly string[];
}

/** Of calls that workloads of the scope make. */
export function outboundTracing(scope: OutboundScope, layers = outboundLayers(scope)): ManagerTracing {
  const resolved = resolveOutboundTracing(scope, layers);
  return buildTracing("CLIENT", resolved, { scope, serviceName: scope.traits.serviceCluster ?? "" });
}

/** Of calls to the view's workload. */
export function inboundTracing(view: ProxyView, layers = inboundLayers(view)): ManagerTracing {
  const resolved = resolveInboundTracing(view, layers);
  return buildTracing("SERVER", resolved, { scope: view.outbound, serviceName: view.node.serviceCluster });
}

export function resolveOutboundTracing(scope: OutboundScope, layers = outboundLayers(scope)): ResolvedTracing {
  const { traits, mesh } = scope;
  return resolveTracing("CLIENT", layers, mesh, ownTracing(mesh, traits));
}

export function resolveInboundTracing(view: ProxyView, layers = inboundLayers(view)): ResolvedTracing {
  const { mesh } = view.snapshot;
  return resolveTracing("SERVER", layers, mesh, ownTracing(mesh, view.node));
}

/** A proxy that sends its configuration has said everything about its tracer. */
function ownTracing(
  { source }: MeshSettings,
  { listening }: { readonly listening: { readonly tracing?: ProxyTracing; readonly headers?: unknown } },
): ProxyTracing | undefined {
  if (listening.headers !== undefined) return listening.tracing;
  const { tracing } = (source.defaultConfig ?? {}) as { readonly tracing?: Readonly<Record<string, unknown>> };
  return tracing && proxyTracing(tracing);
}

interface TracingContext {
  readonly scope: OutboundScope;
  readonly serviceName: string;
}

const NO_TRACING: ManagerTracing = { settings: {}, problems: [] };

function buildTracing(mode: ReportingMode, { choice }: ResolvedTracing, context: TracingContext): ManagerTracing {
  if (choice === undefined || choice.isDisabled) return NO_TRACING;
  const { scope, serviceName } = context;
  if (choice.provider === undefined) return { settings: settingsOf(mode, scope, choice), problems: [] };
  const tracer = findTracer(scope, choice.provider, serviceName);
  if (typeof tracer === "string") {
    return { settings: {}, problems: [`tracing provider ${JSON.stringify(choice.provider)}: ${tracer}`] };
  }
  const maxTagLength = tracer.maxTagLength || choice.maxTagLength;
  return { settings: settingsOf(mode, scope, { ...choice, maxTagLength }, tracer), problems: [] };
}

/** Why spans cannot be sent to the provider; undefined when they can. */
export function tracerProblem(scope: OutboundScope, provider: string): string | undefined {
  const tracer = findTracer(scope, provider, "");
  return typeof tracer === "string" ? tracer : undefined;
}

function findTracer(scope: OutboundScope, provider: string, serviceName: string) {
  const { extensionProviders = [] } = scope.mesh.source as {
    readonly extensionProviders?: readonly ExtensionProvider[];
  };
  if (provider === "") return "no provider is named, and the mesh has no default one";
  const found = extensionProviders.find(({ name = "" }) => name.toLowerCase() === provider.toLowerCase());
  if (found === undefined) return "the mesh has no such provider";
  const name = serviceName || `${UNNAMED}.${scope.traits.namespace}`;
  return buildTracer(found, name, (service, port) => findProviderServer(scope, service, port));
}

/** Of proxies that do not say what they are called. */
const UNNAMED = "istio-proxy";

function settingsOf(
  mode: ReportingMode,
  { traits }: Pick<OutboundScope, "traits">,
  choice: TracingChoice,
  tracer?: Tracer,
): ManagerTracing["settings"] {
  const { samplingPercentage, hasMeshTags, customTags, maxTagLength, propagates, usesRequestId } = choice;
  const isRouter = traits.type === "router";
  const trialTags = mode === "SERVER" || isRouter ? TRIAL_TAGS : [];
  const tags = [...(hasMeshTags ? [...meshTags(), ...trialTags] : []), ...toCustomTags(customTags)];
  return {
    tracing: {
      clientSampling: { value: 100 },
      randomSampling: { value: samplingPercentage },
      overallSampling: { value: 100 },
      customTags: tags.toSorted((a, b) => compareText(a.tag ?? "", b.tag ?? "")),
      ...(maxTagLength > 0 && { maxPathTagLength: maxTagLength }),
      ...(tracer && { provider: tracer.http }),
      // The call that a router answers and the one it makes are two: between them lie routing, retries and waiting.
      ...((isRouter || tracer?.spansCalls) && { spawnUpstreamSpan: true }),
      // Named by the host that is called: at the server every request has the same virtual host.
      ...(mode === "CLIENT" && { operation: "%CEL(xds.virtual_host_name)%/*" }),
      ...(!propagates && { noContextPropagation: true }),
    },
    requestIdExtension: {
      typedConfig: pack("envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig", {
        ...(!usesRequestId && { useRequestIdForTraceSampling: false }),
      }),
    },
  };
}

/** What policies on trial (`istio.io/dry-run`) would have done with the request; absent where there are none. */
const TRIAL_TAGS: readonly CustomTag[] = (["allow", "deny"] as const).flatMap((action) =>
  Object.entries({ name: "effective_policy_id", result: "engine_result" }).map(([what, key]) => ({
    tag: `istio.authorization.dry_run.${action}_policy.${what}`,
    metadata: {
      kind: { request: {} },
      metadataKey: { key: "envoy.filters.http.rbac", path: [{ key: `istio_dry_run_${action}_shadow_${key}` }] },
    },
  })),
);

function toCustomTags(tags: TelemetryTracing["customTags"]): readonly CustomTag[] {
  return Object.entries(tags).flatMap(([tag, { literal, environment, header, formatter }]): readonly CustomTag[] => {
    if (literal !== undefined) return [{ tag, literal: { value: literal.value } }];
    if (environment !== undefined) return [{ tag, environment: withDefault(environment) }];
    if (header !== undefined) return [{ tag, requestHeader: withDefault(header) }];
    return formatter === undefined ? [] : [{ tag, value: formatter.value }];
  });
}

function withDefault({ name, defaultValue }: { readonly name: string; readonly defaultValue?: string }) {
  return { name, ...(defaultValue ? { defaultValue } : {}) };
}
