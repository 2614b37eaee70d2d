import {
  asField,
  JOINED_LABELS,
  joinCalled,
  joinService,
  joinWorkload,
  type ServedService,
} from "../../mesh-model/metric-labels.ts";
import type { Service } from "../../mesh-model/service.ts";
import { UNKNOWN, type WorkloadLabels } from "../../mesh-model/workload-labels.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { HeaderValueOption, Metadata } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { Config_Tag } from "../../protobuf/gen/envoy/extensions/access_loggers/stats/v3.ts";
import type { Matcher, Matcher_OnMatch } from "../../protobuf/gen/xds/type/matcher/v3.ts";
import { localWorkload } from "./local-workload.ts";

export type { ServedService } from "../../mesh-model/metric-labels.ts";

/** What is counted apart: the protocol is known to the log, so that it need not be looked up for each metric. */
export type CountedProtocol = "http" | "grpc" | "tcp";

/** Labels of a metric as they are joined (`mesh-model/metric-labels.ts`): items in their order, the caller's group at the end. */
export interface JoinedLabels {
  readonly items: readonly string[];
  readonly source: string;
}

/** At the caller: who it is is known to the connection, who is called to endpoint and cluster. */
export function sourceLabels(protocol: CountedProtocol): JoinedLabels {
  const items = [
    "reporter=source",
    // Whether the other side took the certificate is for it to say.
    `connection_security_policy=${UNKNOWN}`,
    `@called=%COALESCE(${JSON.stringify(CALLED)})%`,
    "source_principal?%UPSTREAM_LOCAL_URI_SAN%",
    "destination_principal?%UPSTREAM_PEER_URI_SAN%",
    ...protocolItems(protocol),
  ];
  return { items, source: localWorkload() };
}

/** At the server: who is called is fixed; callers say who they are in a header, and prove it by their certificates. */
export function destinationLabels(
  protocol: CountedProtocol,
  workload: WorkloadLabels,
  service: ServedService,
): JoinedLabels {
  const items = [
    "reporter=destination",
    `@destination=${fixed(joinWorkload(workload))}`,
    `@service=${fixed(joinService(service))}`,
    "destination_principal?%DOWNSTREAM_LOCAL_URI_SAN%",
    "@peer=%DOWNSTREAM_PEER_URI_SAN%",
    ...protocolItems(protocol),
  ];
  // A connection has no headers, and Envoy no function that takes the namespace out of the certificate's name.
  return { items, source: protocol === "tcp" ? "" : `%REQ(${PEER_HEADER})%` };
}

function protocolItems(protocol: CountedProtocol): readonly string[] {
  const flags = "response_flags=%RESPONSE_FLAGS%";
  if (protocol === "tcp") return ["request_protocol=tcp", flags];
  const status = protocol === "grpc" ? "~%GRPC_STATUS_NUMBER%" : "=";
  const code = "response_code=%RESPONSE_CODE%";
  return [`request_protocol=${protocol}`, `grpc_response_status${status}`, code, flags];
}

/** One tag for all labels, and one for each that overrides set: what an expression gives may be any text. */
export function toTags(
  { items, source }: JoinedLabels,
  overrides: ReadonlyMap<string, string | undefined>,
): readonly Config_Tag[] {
  const removed = [...overrides.keys()].map((name) => `-${asField(name)}`);
  const own = [...overrides].flatMap(([name, expression]) =>
    expression === undefined ? [] : [{ name, ...expressionValue(expression) }],
  );
  return [{ name: JOINED_LABELS, valueFormat: [...items, ...removed, `@source=${source}`].join(" ") }, ...own];
}

/** A value is an expression; one that cannot be evaluated gives `unknown`. */
function expressionValue(expression: string): Omit<Config_Tag, "name"> {
  // A text needs no evaluation.
  const [, , text] = /^\s*(["'])([^"'\\]*)\1\s*$/.exec(expression) ?? [];
  if (text !== undefined) return { valueFormat: fixed(text) };
  // `node` is the API's name for what Envoy calls `xds.node`.
  const valueFormat = `%CEL(${expression.replace(/(?<![\w.'"])node(?=[.[])/g, "xds.node")})%`;
  return { valueFormat, rules: OR_UNKNOWN };
}

/** Text that is no command. */
function fixed(text: string): string {
  return text.replaceAll("%", "%%");
}

function toValue(newTagValue: string): Matcher_OnMatch {
  return {
    action: {
      name: "value",
      typedConfig: pack("envoy.extensions.matching.actions.transform_stat.v3.TransformStat", {
        updateTag: { newTagValue },
      }),
    },
  };
}

const TAG_VALUE = {
  name: "tag-value",
  typedConfig: pack("envoy.extensions.matching.common_inputs.stats.v3.StatTagValueInput", {}),
};
/** Absent values read as `-` or as nothing, according to the command. */
const OR_UNKNOWN: Matcher = {
  matcherList: {
    matchers: ["-", ""].map((exact) => ({
      predicate: { singlePredicate: { input: TAG_VALUE, valueMatch: { exact } } },
      onMatch: toValue(UNKNOWN),
    })),
  },
};

/** Under which endpoints and clusters say what they are. */
const PEER_METADATA = "istio.peer";
const PEER = "labels";
/** Looking metadata up costs most of all commands, and each metric does it: so endpoints say their service too. */
const CALLED = {
  operators: [
    ...["UPSTREAM_METADATA", "CLUSTER_METADATA"].map((command) => ({ command, param: `${PEER_METADATA}:${PEER}` })),
    { command: "UPSTREAM_CLUSTER_RAW" },
  ],
};

/** For `metadata` of endpoints. */
export function endpointMetadata(
  workload: WorkloadLabels,
  service: ServedService,
): NonNullable<Metadata["filterMetadata"]> {
  return { [PEER_METADATA]: { [PEER]: joinCalled(workload, service) } };
}

export function servedService({ hostname, name, namespace }: Service): ServedService {
  return { host: hostname, name, namespace };
}

/** For `metadata` of clusters. */
export function serviceMetadata(service: ServedService): NonNullable<Metadata["filterMetadata"]> {
  return { [PEER_METADATA]: { [PEER]: joinService(service) } };
}

/** Requests say who sends them: the server could tell no more than the account from the certificate. */
const PEER_HEADER = "x-istio-peer";

/** What a client says of itself is replaced. */
export function peerHeaders(): readonly HeaderValueOption[] {
  return ADDED_HEADERS;
}

const ADDED_HEADERS: readonly HeaderValueOption[] = [
  { header: { key: PEER_HEADER, value: localWorkload() }, appendAction: "OVERWRITE_IF_EXISTS_OR_ADD" },
];
