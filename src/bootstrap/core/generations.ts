import type { StringMap } from "../../istio-api/proxy-config/proxy-config.ts";
import { METADATA_TYPES } from "./metadata-keys.ts";
import type { StatsTag } from "./stats-tags.ts";
import { STANDARD_TAGS_1_7, STATS_TAGS, STATS_TAGS_1_7, STATS_TAGS_1_20 } from "./stats-tags.ts";

/** How a generation describes the node. */
export interface NodeRules {
  readonly typedKeys: ReadonlySet<string>;
  readonly importsProxyMetadata: boolean;
  /** Variables with these prefixes are not raw metadata. */
  readonly skippedPrefixes: readonly string[];
  readonly constants: Readonly<Record<string, string>>;
  /** Keys read straight from variables. */
  directKeys(env: StringMap): Readonly<Record<string, string>>;
  readonly metadataDiscoveryAlways: boolean;
  readonly staticLabels: boolean;
  readonly readsPodFiles: boolean;
  /** CANONICAL_SERVICE and CANONICAL_REVISION stand in for the labels of that meaning. */
  readonly canonicalFromEnv: boolean;
  /** Labels that replace the default service cluster, in order; null keeps the configured name. */
  readonly clusterLabels: readonly string[] | null;
  readonly localityLabels: readonly string[];
}

/** What a generation's document looks like. */
export interface DocumentRules {
  readonly applicationLog: boolean;
  readonly altStatNames: boolean;
  readonly initialFetchTimeout: boolean;
  readonly nodeOnFirstMessageOnly: boolean;
  readonly internalListener: boolean;
  readonly overloadManager: boolean;
  readonly deferredCreation: boolean;
  readonly statsIntervals: boolean;
  readonly selfDiscovery: boolean;
  readonly filesSds: boolean;
  /** Typed protocol options and access logs, or the fields they replaced. */
  readonly http2: "typed" | "field";
  readonly adminAccessLog: "typed" | "path";
  readonly adminProfile: "data" | "config-path";
  /** Null: as the options say. */
  readonly sdsPipe: string | null;
  readonly fixedPorts: { readonly agent: number; readonly prometheus: number; readonly status: number } | null;
  /** A slip of older documents that their readers know. */
  readonly agentAssignmentName: "agent" | "prometheus_stats";
  readonly listeners: "limited" | "plain";
  readonly extensionNames: "current" | "old";
  readonly compressors: boolean;
  readonly runtimeLayer: string;
  readonly runtimeDefaults: Readonly<Record<string, string | number | boolean>>;
  readonly statsTags: readonly StatsTag[];
  readonly standardTags: readonly string[];
  readonly statsFrom: "annotations" | "raw-metadata";
  readonly requiredPrefixes: readonly string[];
  readonly requiredSuffixes: readonly string[];
  readonly requiredRegexes: readonly string[];
  readonly regexPattern: "safe_regex" | "regex";
  readonly lastPrefixes: readonly string[];
  readonly tracers: "zipkin-lightstep-datadog" | "with-opencensus";
  readonly tracerDnsRefresh: boolean;
  /** How Envoy reaches the control plane. */
  readonly xds: "agent" | "agent-or-direct" | "direct";
}

/** A product generation as data; chosen once, in `settings/`. */
export interface BootstrapRules {
  readonly node: NodeRules;
  readonly document: DocumentRules;
  /** Whether templates may use Sprig. */
  readonly sprig: boolean;
  /** An override file goes to Envoy as it is, without substitution. */
  readonly rawOverride: boolean;
  bootstrapFileName(epoch: number, extension: "json" | "yaml"): string;
}

const ALL_KEYS = Object.keys(METADATA_TYPES);
const without = (...dropped: readonly string[]) => new Set(ALL_KEYS.filter((key) => !dropped.includes(key)));
const USE_ORIGINAL_DST =
  "envoy.deprecated_features:envoy.config.listener.v3.Listener.hidden_envoy_deprecated_use_original_dst";

const NODE: NodeRules = {
  typedKeys: new Set(ALL_KEYS),
  importsProxyMetadata: true,
  skippedPrefixes: [],
  constants: {},
  directKeys: () => ({}),
  metadataDiscoveryAlways: true,
  staticLabels: true,
  readsPodFiles: true,
  canonicalFromEnv: false,
  clusterLabels: ["app", "app.kubernetes.io/name", "service.istio.io/canonical-name"],
  localityLabels: ["topology.istio.io/locality", "istio-locality"],
};

const LATER_KEYS = [
  "DISABLE_HBONE_SEND",
  "DNS_PROXY_ADDR",
  "ENABLE_SELF_DISCOVERY",
  "ENVOY_SECURE_METRICS_PORT",
  "ENVOY_SECURE_MERGED_METRICS_PORT",
  "ENVOY_SKIP_DEPRECATED_LOGS",
  "WORKLOAD_IDENTITY_SOCKET_FILE",
];

const NODE_1_20: NodeRules = {
  ...NODE,
  typedKeys: without(...LATER_KEYS),
  metadataDiscoveryAlways: false,
  clusterLabels: ["app"],
  localityLabels: ["istio-locality"],
};

const EXCHANGE_KEYS =
  "NAME,NAMESPACE,INSTANCE_IPS,LABELS,OWNER,PLATFORM_METADATA,WORKLOAD_NAME,MESH_ID,SERVICE_ACCOUNT,CLUSTER_ID";

const NODE_1_7: NodeRules = {
  ...NODE_1_20,
  typedKeys: new Set([
    ...without(...LATER_KEYS, "ANNOTATIONS", "STATIC_LABELS", "METADATA_DISCOVERY"),
    "SDS",
    "EXCHANGE_KEYS",
  ]),
  importsProxyMetadata: false,
  skippedPrefixes: ["ISTIO_META_WORKLOAD"],
  constants: { SDS: "true" },
  directKeys: (env) => ({
    EXCHANGE_KEYS: [EXCHANGE_KEYS, env.ISTIO_ADDITIONAL_METADATA_EXCHANGE_KEYS].filter(Boolean).join(","),
    OWNER: env.ISTIO_META_OWNER ?? "",
    WORKLOAD_NAME: env.ISTIO_META_WORKLOAD_NAME ?? "",
  }),
  staticLabels: false,
  canonicalFromEnv: true,
  clusterLabels: null,
};

const DOCUMENT: DocumentRules = {
  applicationLog: true,
  altStatNames: true,
  initialFetchTimeout: true,
  nodeOnFirstMessageOnly: true,
  internalListener: true,
  overloadManager: true,
  deferredCreation: true,
  statsIntervals: true,
  selfDiscovery: true,
  filesSds: true,
  http2: "typed",
  adminAccessLog: "typed",
  adminProfile: "data",
  sdsPipe: null,
  fixedPorts: null,
  agentAssignmentName: "agent",
  listeners: "limited",
  extensionNames: "current",
  compressors: true,
  runtimeLayer: "global config",
  runtimeDefaults: {
    "re2.max_program_size.error_level": "32768",
    [USE_ORIGINAL_DST]: true,
    "envoy.reloadable_features.http_reject_path_with_fragment": false,
    "envoy.reloadable_features.fixed_heap_use_allocated": true,
    "envoy.reloadable_features.coalesce_lb_rebuilds_on_batch_update": false,
  },
  statsTags: STATS_TAGS,
  standardTags: [],
  statsFrom: "annotations",
  requiredPrefixes: ["cluster_manager", "listener_manager", "server", "cluster.xds-grpc", "wasm"],
  requiredSuffixes: ["rbac.allowed", "rbac.denied", "shadow_allowed", "shadow_denied"],
  requiredRegexes: ["vhost\\..*\\.route\\..*"],
  regexPattern: "safe_regex",
  lastPrefixes: ["component", "istio"],
  tracers: "zipkin-lightstep-datadog",
  tracerDnsRefresh: true,
  xds: "agent",
};

const DOCUMENT_1_20: DocumentRules = {
  ...DOCUMENT,
  applicationLog: false,
  altStatNames: false,
  overloadManager: false,
  deferredCreation: false,
  statsIntervals: false,
  selfDiscovery: false,
  filesSds: false,
  sdsPipe: "./var/run/secrets/workload-spiffe-uds/socket",
  listeners: "plain",
  compressors: false,
  runtimeDefaults: {
    "overload.global_downstream_max_connections": "2147483647",
    "re2.max_program_size.error_level": "32768",
    [USE_ORIGINAL_DST]: true,
    "envoy.reloadable_features.http_reject_path_with_fragment": false,
  },
  statsTags: STATS_TAGS_1_20,
  requiredRegexes: ["vhost\\.*\\.route\\.*"],
  tracers: "with-opencensus",
};

const DOCUMENT_1_7: DocumentRules = {
  ...DOCUMENT_1_20,
  initialFetchTimeout: false,
  nodeOnFirstMessageOnly: false,
  internalListener: false,
  http2: "field",
  adminAccessLog: "path",
  sdsPipe: "./etc/istio/proxy/SDS",
  fixedPorts: { agent: 15020, prometheus: 15090, status: 15021 },
  agentAssignmentName: "prometheus_stats",
  extensionNames: "old",
  runtimeLayer: "deprecation",
  runtimeDefaults: { [USE_ORIGINAL_DST]: true },
  statsTags: STATS_TAGS_1_7,
  standardTags: STANDARD_TAGS_1_7,
  statsFrom: "raw-metadata",
  requiredPrefixes: [
    "cluster_manager",
    "listener_manager",
    "http_mixer_filter",
    "tcp_mixer_filter",
    "server",
    "cluster.xds-grpc",
    "wasm",
  ],
  requiredSuffixes: [],
  requiredRegexes: [],
  regexPattern: "regex",
  lastPrefixes: ["component"],
  tracers: "zipkin-lightstep-datadog",
  tracerDnsRefresh: false,
  xds: "direct",
};

const DOCUMENT_1_8: DocumentRules = {
  ...DOCUMENT_1_7,
  extensionNames: "current",
  regexPattern: "safe_regex",
  runtimeDefaults: {
    [USE_ORIGINAL_DST]: true,
    "envoy.reloadable_features.strict_1xx_and_204_response_headers": false,
    "re2.max_program_size.error_level": 1024,
  },
  tracers: "with-opencensus",
  xds: "agent-or-direct",
};

/** One file while there is one process; the epochs of a hot restart have one each, which goes when its process has exited. */
const singleFile = (epoch: number, extension: string) => `envoy-rev${epoch === 0 ? "" : epoch}.${extension}`;
const filePerEpoch = (epoch: number, extension: string) => `envoy-rev${epoch}.${extension}`;
const EARLY = { node: NODE_1_7, sprig: false, rawOverride: true, bootstrapFileName: filePerEpoch };

export const BOOTSTRAP_RULES = {
  master: {
    node: NODE,
    document: DOCUMENT,
    sprig: true,
    rawOverride: false,
    bootstrapFileName: singleFile,
  },
  "1.20": {
    node: NODE_1_20,
    document: DOCUMENT_1_20,
    sprig: true,
    rawOverride: true,
    bootstrapFileName: singleFile,
  },
  "1.8": { ...EARLY, document: DOCUMENT_1_8 },
  "1.7": { ...EARLY, document: DOCUMENT_1_7 },
  "1.6": { ...EARLY, document: { ...DOCUMENT_1_7, adminProfile: "config-path" } },
} as const satisfies Readonly<Record<string, BootstrapRules>>;
