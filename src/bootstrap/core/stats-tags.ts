/** Where the extra tags of ProxyConfig and annotations stand in the list. */
export const EXTRA_TAGS = "extra tags" as const;

export type StatsTag = readonly [name: string, regex: string] | typeof EXTRA_TAGS;

const ADDRESS = "((?:[_.[:digit:]]*|[_\\[\\]aAbBcCdDeEfF[:digit:]]*))";
const TCP_PREFIX: StatsTag = ["tcp_prefix", "^tcp\\.((.*?)\\.)\\w+?$"];
const RESPONSE_CODE: StatsTag = ["response_code", "_rq(_(\\d{3}))$"];
const RESPONSE_CODE_CLASS: StatsTag = ["response_code_class", "_rq(_(\\dxx))$"];
const LISTENER_PREFIX: StatsTag = ["http_conn_manager_listener_prefix", `^listener(?=\\.).*?\\.http\\.(${ADDRESS}\\.)`];
const LISTENER_ADDRESS: StatsTag = ["listener_address", `^listener\\.(${ADDRESS}\\.)`];
const MONGO: StatsTag = ["mongo_prefix", "^mongo\\.(.+?)\\.(collection|cmd|cx_|op_|delays_|decoding_)(.*?)$"];
const COMPONENTS: readonly StatsTag[] = [
  ["cache", "(cache\\.(.+?)\\.)"],
  ["component", "(component\\.(.+?)\\.)"],
  ["tag", "(tag\\.(.+?);\\.)"],
];
const WASM: StatsTag = ["wasm_filter", "(wasm_filter\\.(.+?)\\.)"];
const AUTHORIZATION: readonly StatsTag[] = [
  ["authz_enforce_result", "rbac(\\.(allowed|denied))"],
  ["authz_dry_run_action", "(\\.istio_dry_run_(allow|deny)_)"],
  ["authz_dry_run_result", "(\\.shadow_(allowed|denied))"],
];
/** Before cluster names ended in a semicolon the service's domain had to be recognised. */
const DOTTED_CLUSTER: StatsTag = ["cluster_name", "^cluster\\.((.+?(\\..+?\\.svc\\.cluster\\.local)?)\\.)"];
const DOTTED_PREFIX: StatsTag = ["http_conn_manager_prefix", `^http\\.(${ADDRESS}\\.)`];

export const STATS_TAGS: readonly StatsTag[] = [
  ["cluster_name", "^cluster(\\.(.+);)"],
  ["http_conn_manager_prefix", "^http\\.(((?:[_.[:digit:]\\w]*|[_\\[\\]aAbBcCdDeEfF[:digit:]\\w\\:]*));\\.)"],
  ["thread_name", "^server(\\.(.+))\\.watchdog"],
  TCP_PREFIX,
  RESPONSE_CODE,
  RESPONSE_CODE_CLASS,
  LISTENER_PREFIX,
  LISTENER_ADDRESS,
  MONGO,
  EXTRA_TAGS,
  ...COMPONENTS,
  WASM,
  ...AUTHORIZATION,
];

export const STATS_TAGS_1_20: readonly StatsTag[] = [
  DOTTED_CLUSTER,
  TCP_PREFIX,
  RESPONSE_CODE,
  RESPONSE_CODE_CLASS,
  LISTENER_PREFIX,
  DOTTED_PREFIX,
  LISTENER_ADDRESS,
  MONGO,
  EXTRA_TAGS,
  ...COMPONENTS,
  WASM,
  ...AUTHORIZATION,
];

export const STATS_TAGS_1_7: readonly StatsTag[] = [
  DOTTED_CLUSTER,
  TCP_PREFIX,
  ["response_code", "(response_code=\\.=(.+?);\\.;)|_rq(_(\\.d{3}))$"],
  RESPONSE_CODE_CLASS,
  LISTENER_PREFIX,
  DOTTED_PREFIX,
  LISTENER_ADDRESS,
  MONGO,
  EXTRA_TAGS,
  ...COMPONENTS,
  WASM,
];

/** Istio's standard metric labels, which older generations had to list themselves. */
export const STANDARD_TAGS_1_7: readonly string[] = [
  "reporter",
  ...["source", "destination"].flatMap((side) => [
    `${side}_namespace`,
    `${side}_workload`,
    `${side}_workload_namespace`,
    `${side}_principal`,
    `${side}_app`,
    `${side}_version`,
    ...(side === "source" ? ["source_cluster"] : []),
  ]),
  "destination_service",
  "destination_service_name",
  "destination_service_namespace",
  "destination_port",
  "destination_cluster",
  "request_protocol",
  "request_operation",
  "request_host",
  "response_flags",
  "grpc_response_status",
  "connection_security_policy",
  "permissive_response_code",
  "permissive_response_policyid",
  "source_canonical_service",
  "destination_canonical_service",
  "source_canonical_revision",
  "destination_canonical_revision",
];
