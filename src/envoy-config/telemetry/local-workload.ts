import { joinFields } from "../../mesh-model/metric-labels.ts";
import {
  CANONICAL_NAME_LABELS,
  CANONICAL_REVISION_LABELS,
  UNKNOWN,
  WORKLOAD_LABEL_NAMES,
  WORKLOAD_NAME_LABEL,
  type WorkloadLabels,
} from "../../mesh-model/workload-labels.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { ListenerFilter } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { CustomTag } from "../../protobuf/gen/envoy/type/tracing/v3.ts";

/**
 * Listeners for outbound calls are shared by workloads alike, so that what a workload is called is not written into them: Envoy finds it
 * in its own node, by expressions. Those cost, so that metrics have them evaluated once per connection.
 */
const METADATA = "xds.node.metadata";

const member = (name: string, otherwise: string) =>
  `'${name}' in ${METADATA} && ${METADATA}.${name} != '' ? ${METADATA}.${name} : ${otherwise}`;

function label(names: readonly string[], otherwise: string): string {
  const labels = `${METADATA}.LABELS`;
  return names.reduceRight(
    (rest, name) =>
      `'LABELS' in ${METADATA} && '${name}' in ${labels} && ${labels}['${name}'] != '' ? ${labels}['${name}'] : (${rest})`,
    otherwise,
  );
}

const EXPRESSIONS: Readonly<Record<keyof WorkloadLabels, string>> = {
  workload: label([WORKLOAD_NAME_LABEL], member("WORKLOAD_NAME", `'${UNKNOWN}'`)),
  namespace: member("NAMESPACE", `'${UNKNOWN}'`),
  app: label(["app"], `'${UNKNOWN}'`),
  version: label(["version"], `'${UNKNOWN}'`),
  canonicalService: label(CANONICAL_NAME_LABELS, member("WORKLOAD_NAME", `'${UNKNOWN}'`)),
  canonicalRevision: label(CANONICAL_REVISION_LABELS, "'latest'"),
  cluster: member("CLUSTER_ID", `'${UNKNOWN}'`),
};

/** Whose spans they are. */
export function meshTags(): readonly CustomTag[] {
  return MESH_TAGS;
}

const MESH_TAGS: readonly CustomTag[] = [
  { tag: "istio.canonical_revision", value: `%CEL(${EXPRESSIONS.canonicalRevision})%` },
  { tag: "istio.canonical_service", value: `%CEL(${EXPRESSIONS.canonicalService})%` },
  { tag: "istio.cluster_id", value: `%CEL(${EXPRESSIONS.cluster})%` },
  { tag: "istio.mesh_id", value: `%CEL(${member("MESH_ID", `'${UNKNOWN}'`)})%` },
  { tag: "istio.namespace", value: `%CEL(${member("NAMESPACE", "'default'")})%` },
];

const STATE = "istio.local";

/** Reads what the listener filter below has found: the fields of the caller's group. */
export function localWorkload(): string {
  return `%FILTER_STATE(${STATE}:PLAIN)%`;
}

/** Connections know whose they are. */
export function localWorkloadFilter(): ListenerFilter {
  return LOCAL_WORKLOAD;
}

const LOCAL_WORKLOAD: ListenerFilter = {
  name: "envoy.filters.listener.set_filter_state",
  typedConfig: pack("envoy.extensions.filters.listener.set_filter_state.v3.Config", {
    onAccept: [
      {
        objectKey: STATE,
        factoryKey: "envoy.string",
        formatString: {
          textFormatSource: {
            inlineString: joinFields(WORKLOAD_LABEL_NAMES.map((name) => `%CEL(${EXPRESSIONS[name]})%`)),
          },
        },
        readOnly: true,
      },
    ],
  }),
};
