import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { TelemetryAccessLogging } from "../../istio-api/specs/telemetry.ts";
import type { ConfigSnapshot } from "../../mesh-model/config-store.ts";
import { selects } from "../../mesh-model/selector.ts";

/** Whose logs are asked for. */
export interface LoggingWorkload {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What Telemetry objects say about a workload's access logs: the mesh's layer, the namespace's, then each that selects the workload. */
export function selectLogging(
  configs: Pick<ConfigSnapshot, "list">,
  rootNamespace: string,
  { namespace, labels }: LoggingWorkload,
): readonly (readonly TelemetryAccessLogging[])[] {
  const own = configs.list("Telemetry", namespace);
  const ofMesh = namespace === rootNamespace ? [] : configs.list("Telemetry", rootNamespace);
  // Of several for a whole namespace the oldest is meant; the lists are in that order.
  const layers = [
    ofMesh.find(isForAll),
    own.find(isForAll),
    ...own.filter((object) => isForSome(object) && selects(selectorOf(object), labels)),
  ];
  return layers.flatMap((layer) => (layer === undefined ? [] : [layer.spec.accessLogging])).filter(isFilled);
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

function isFilled(list: readonly unknown[]): boolean {
  return list.length > 0;
}
