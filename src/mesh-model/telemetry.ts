import type { ConfigObject } from "../istio-api/config-object.ts";
import type { ExtensionProvider } from "../istio-api/mesh-config/mesh-config.ts";
import type { ConfigSnapshot } from "./config-store.ts";
import type { MeshSettings } from "./mesh-settings.ts";
import { selects } from "./selector.ts";

/** Whose telemetry is asked for. */
export interface ReportingWorkload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** A Telemetry object that reaches a workload, and by what. */
export interface TelemetryLayer {
  readonly level: "mesh" | "namespace" | "workload";
  readonly object: ConfigObject<"Telemetry">;
}

/** Telemetry objects that may reach workloads of the namespace. */
export function telemetryObjects(
  configs: Pick<ConfigSnapshot, "list">,
  rootNamespace: string,
  namespace: string,
): readonly ConfigObject<"Telemetry">[] {
  return [...new Set([rootNamespace, namespace])].flatMap((owner) => configs.list("Telemetry", owner));
}

/** Those of the objects that reach a workload, the outermost first: the mesh's, the namespace's, then each that selects the workload. */
export function telemetryLayers(
  objects: readonly ConfigObject<"Telemetry">[],
  rootNamespace: string,
  { namespace, labels }: ReportingWorkload,
): readonly TelemetryLayer[] {
  const own = objects.filter((object) => object.namespace === namespace);
  const ofMesh = namespace === rootNamespace ? [] : objects.filter((object) => object.namespace === rootNamespace);
  // Of several for a whole namespace the oldest is meant; the lists are in that order.
  const [mesh, whole] = [ofMesh.find(isForAll), own.find(isForAll)];
  return [
    ...(mesh === undefined ? [] : [{ level: "mesh" as const, object: mesh }]),
    ...(whole === undefined ? [] : [{ level: "namespace" as const, object: whole }]),
    ...own
      .filter((object) => isForSome(object) && selects(selectorOf(object), labels))
      .map((object) => ({ level: "workload" as const, object })),
  ];
}

function selectorOf({ spec }: ConfigObject<"Telemetry">): Readonly<Record<string, string>> {
  return spec.selector?.matchLabels ?? {};
}

function isForAll(object: ConfigObject<"Telemetry">): boolean {
  return !namesTarget(object) && Object.keys(selectorOf(object)).length === 0;
}

/** Those that name a target are for gateways. */
function isForSome(object: ConfigObject<"Telemetry">): boolean {
  return !namesTarget(object) && !isForAll(object);
}

function namesTarget({ spec }: ConfigObject<"Telemetry">): boolean {
  return spec.targetRef !== undefined || spec.targetRefs.length > 0;
}

type ProviderUse = "accessLogging" | "metrics" | "tracing";

/** Providers for workloads whose Telemetry objects name none. */
export function defaultProviders(
  { defaultProviders: given }: MeshSettings["source"],
  use: ProviderUse,
): readonly string[] {
  const named = (given ?? {}) as Readonly<Partial<Record<ProviderUse, readonly string[]>>>;
  return named[use] ?? [];
}

/**
 * Somebody wants metrics of workloads that the objects may be for. Peers then have to be known: endpoints carry what they
 * are, requests say who sends them.
 */
export function asksForMetrics({ source }: MeshSettings, objects: readonly ConfigObject<"Telemetry">[]): boolean {
  if (defaultProviders(source, "metrics").length > 0) return true;
  return objects.some(({ spec }) => spec.metrics.some(({ providers }) => providers.length > 0));
}

/** Some tracer needs the name of a proxy, so that proxies of other names cannot share their listeners. */
export function namesProxies({ source }: Pick<MeshSettings, "source">): boolean {
  const { extensionProviders = [] } = source as { readonly extensionProviders?: readonly ExtensionProvider[] };
  return extensionProviders.some(({ opentelemetry, datadog }) => opentelemetry !== undefined || datadog !== undefined);
}
