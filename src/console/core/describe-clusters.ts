import { asJsonObject } from "../../base/json-object.ts";
import { parseClusterName } from "../../envoy-config/index.ts";
import type { ClusterState, EndpointState, Origin } from "../api.ts";
import type { ConfigOrigins } from "./config-origins.ts";
import { list } from "./route-rules.ts";

/** `/clusters?format=json` and the clusters of a configuration dump, together. */
export function describeClusters(clusters: unknown, dump: ConfigDump, origins: ConfigOrigins): readonly ClusterState[] {
  const configured = new Map(dump.clusters.map((cluster) => [String(cluster.name), cluster]));
  return list(asJsonObject(clusters).cluster_statuses)
    .map(asJsonObject)
    .map((status) => {
      const name = String(status.name ?? "");
      const config = configured.get(name) ?? {};
      const parsed = parseClusterName(name);
      const known = origins.cluster(name);
      return {
        name,
        label: parsed === undefined ? name : clusterLabel(name),
        direction:
          parsed?.direction ??
          (/^(Passthrough|BlackHole)/.test(name) ? "outbound" : /^Inbound/.test(name) ? "inbound" : "agent"),
        ...(parsed?.host ? { host: parsed.host } : {}),
        ...(parsed === undefined ? {} : { port: parsed.port }),
        ...(parsed?.subset ? { subset: parsed.subset } : {}),
        ...(config.type === undefined ? {} : { type: String(config.type) }),
        endpoints: list(status.host_statuses)
          .map(asJsonObject)
          .map((host) => endpoint(host, (address) => origins.endpoint(name, address))),
        origins: known.length > 0 ? known : markedOrigins(config),
      } satisfies ClusterState;
    })
    .sort((a, b) => DIRECTIONS.indexOf(a.direction) - DIRECTIONS.indexOf(b.direction) || (a.label < b.label ? -1 : 1));
}

/** Envoy lists them in no order; what a workload calls is looked for most. */
const DIRECTIONS = ["outbound", "inbound", "agent"];

/** `reviews v2 port 9080`, `this workload port 8080`. */
export function clusterLabel(name: string): string {
  const parsed = parseClusterName(name);
  if (parsed === undefined) return name;
  const { direction, host, subset, port } = parsed;
  if (direction === "inbound") return `this workload port ${port}`;
  return [host.split(".")[0], subset, `port ${port}`].filter((each) => each !== "").join(" ");
}

function endpoint(
  status: Readonly<Record<string, unknown>>,
  originsOf: (address: string) => EndpointState["origins"],
): EndpointState {
  const stats = new Map(
    list(status.stats)
      .map(asJsonObject)
      .map(({ name, value }) => [String(name), Number(value ?? 0)]),
  );
  const locality = asJsonObject(status.locality);
  const where = [locality.region, locality.zone, locality.sub_zone].filter(Boolean).join("/");
  const problems = healthProblems(asJsonObject(status.health_status));
  const address = addressText(status.address);
  return {
    address,
    origins: originsOf(address),
    health: problems.length === 0 ? "healthy" : problems.join("; "),
    isHealthy: problems.length === 0,
    weight: Number(status.weight ?? 1),
    ...(where === "" ? {} : { locality: where }),
    requests: stats.get("rq_total") ?? 0,
    errors: stats.get("rq_error") ?? 0,
    openConnections: stats.get("cx_active") ?? 0,
  };
}

const HEALTH: Readonly<Record<string, string>> = {
  failed_active_health_check: "an active health check failed",
  failed_outlier_check: "ejected after too many errors",
  failed_active_degraded_check: "degraded",
  pending_dynamic_removal: "about to be removed",
  pending_active_hc: "waits for its first health check",
  excluded_via_immediate_hc_fail: "says itself that it is unhealthy",
  active_hc_timeout: "a health check was not answered in time",
};

function healthProblems({ eds_health_status: eds, ...flags }: Readonly<Record<string, unknown>>): readonly string[] {
  const known = ["HEALTHY", "UNKNOWN", undefined].includes(eds as string | undefined)
    ? []
    : [`the control plane says ${String(eds).toLowerCase()}`];
  return [...known, ...Object.entries(flags).flatMap(([flag, is]) => (is === true ? [HEALTH[flag] ?? flag] : []))];
}

export function addressText(value: unknown): string {
  const { socket_address: socket, pipe, envoy_internal_address: internal } = asJsonObject(value);
  if (pipe !== undefined) return String(asJsonObject(pipe).path);
  if (internal !== undefined) return String(asJsonObject(internal).server_listener_name ?? "internal");
  const { address = "", port_value: port = 0 } = asJsonObject(socket);
  return String(address).includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** The parts of `/config_dump` that are shown. */
export interface ConfigDump {
  readonly clusters: readonly Readonly<Record<string, unknown>>[];
  readonly listeners: readonly Readonly<Record<string, unknown>>[];
  readonly routes: readonly Readonly<Record<string, unknown>>[];
  readonly types: readonly DumpedType[];
}

/** What the dump says of one type: how many resources, the newest of them, and what Envoy refused. */
export interface DumpedType {
  readonly type: string;
  readonly version?: string;
  readonly resources: number;
  readonly updatedAt?: number;
  readonly refused?: { readonly text: string; readonly at?: number };
}

const SECTIONS = {
  CDS: { type: "ClustersConfigDump", lists: ["dynamic_active_clusters", "dynamic_warming_clusters"], body: "cluster" },
  LDS: { type: "ListenersConfigDump", lists: ["dynamic_listeners"], body: "listener" },
  RDS: { type: "RoutesConfigDump", lists: ["dynamic_route_configs"], body: "route_config" },
  SDS: { type: "SecretsConfigDump", lists: ["dynamic_active_secrets", "dynamic_warming_secrets"], body: "secret" },
  EDS: { type: "EndpointsConfigDump", lists: ["dynamic_endpoint_configs"], body: "endpoint_config" },
  ECDS: { type: "EcdsConfigDump", lists: ["ecds_filters"], body: "ecds_filter" },
} as const;

export function readConfigDump(value: unknown): ConfigDump {
  const configs = list(asJsonObject(value).configs).map(asJsonObject);
  const entriesOf = ({ type, lists }: (typeof SECTIONS)[keyof typeof SECTIONS]) => {
    const section = configs.filter((each) => String(each["@type"]).endsWith(`.${type}`));
    return section.flatMap((each) => lists.flatMap((name) => list(each[name]).map(asJsonObject)));
  };
  const bodies = (name: "CDS" | "LDS" | "RDS") => {
    const { body } = SECTIONS[name];
    return entriesOf(SECTIONS[name]).map((entry) => ({
      ...asJsonObject(asJsonObject(entry.active_state)[body] ?? entry[body]),
      ...(entry.error_state === undefined
        ? {}
        : { refusedBecause: String(asJsonObject(entry.error_state).details ?? "") }),
    }));
  };
  return {
    clusters: bodies("CDS"),
    listeners: bodies("LDS"),
    routes: bodies("RDS"),
    types: (Object.keys(SECTIONS) as (keyof typeof SECTIONS)[]).map((type) => typeOf(type, entriesOf(SECTIONS[type]))),
  };
}

function typeOf(type: string, entries: readonly Readonly<Record<string, unknown>>[]): DumpedType {
  const states = entries.map(
    (entry) => ({ ...entry, ...asJsonObject(entry.active_state) }) as Readonly<Record<string, unknown>>,
  );
  const newest = states.reduce<Readonly<Record<string, unknown>> | undefined>(
    (best, state) => (timeOf(state.last_updated) > timeOf(best?.last_updated) ? state : best),
    undefined,
  );
  const [refused] = entries.flatMap(({ error_state }) =>
    error_state === undefined ? [] : [asJsonObject(error_state)],
  );
  const refusedAt = timeOf(refused?.last_update_attempt);
  return {
    type,
    resources: entries.length,
    ...(newest === undefined
      ? {}
      : { version: String(newest.version_info ?? ""), updatedAt: timeOf(newest.last_updated) }),
    ...(refused === undefined
      ? {}
      : { refused: { text: String(refused.details ?? "refused"), ...(refusedAt === 0 ? {} : { at: refusedAt }) } }),
  };
}

function timeOf(value: unknown): number {
  return Date.parse(String(value ?? "")) || 0;
}

/**
 * `/apis/networking.istio.io/v1/namespaces/shop/virtual-service/catalogue`, which Istio's control plane leaves in what it makes: for agents whose
 * control plane cannot be asked.
 */
export function markedOrigins(resource: Readonly<Record<string, unknown>>): readonly Origin[] {
  const { config } = asJsonObject(asJsonObject(asJsonObject(resource.metadata).filter_metadata).istio);
  const [, namespace, kind, name] =
    /^\/apis\/[^/]+\/[^/]+\/namespaces\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(String(config ?? "")) ?? [];
  if (namespace === undefined || kind === undefined || name === undefined) return [];
  const words = kind.split("-").map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return [{ kind: words.join(""), namespace, name, isListed: false }];
}
