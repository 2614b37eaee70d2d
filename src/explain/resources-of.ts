import { type CachingSource, createResourceSource } from "../envoy-config/index.ts";
import type { ProxyView } from "../mesh-model/push-snapshot.ts";
import { decodeMessage, type MessageName } from "../protobuf/envoy/index.ts";
import { any } from "../protobuf/wire/discovery.ts";
import { WIRE_BYTES, WIRE_VARINT, WireReader } from "../protobuf/wire/wire-reader.ts";
import type { Origin } from "../simulate/index.ts";
import { decodeNameTable } from "../xds/name-table.ts";
import type { EncodedResource } from "../xds/resource-source.ts";

/** Types in the order in which a proxy asks for them. */
export const EXPLAINED_TYPES = ["cds", "eds", "lds", "rds", "ecds", "nds"] as const;
export type ExplainedType = (typeof EXPLAINED_TYPES)[number];

/** One resource as it is sent, in the JSON form of Envoy's API. */
export interface ExplainedResource {
  readonly type: ExplainedType;
  readonly name: string;
  /** Equal for equal content. */
  readonly version: string;
  /** Decoded at first use: a proxy of a large mesh is sent more than anybody looks at. */
  readonly value: unknown;
}

export interface Explained {
  readonly resources: readonly ExplainedResource[];
  /** What was left out or not followed, and why. */
  readonly problems: readonly ExplainedProblem[];
}

export interface ExplainedProblem {
  readonly text: string;
  /** The object that could not be followed, where one is known. */
  readonly origin?: Origin;
}

type Json = Readonly<Record<string, unknown>>;

const MESSAGES: Readonly<Record<Exclude<ExplainedType, "nds">, MessageName>> = {
  cds: "envoy.config.cluster.v3.Cluster",
  eds: "envoy.config.endpoint.v3.ClusterLoadAssignment",
  lds: "envoy.config.listener.v3.Listener",
  rds: "envoy.config.route.v3.RouteConfiguration",
  ecds: "envoy.config.core.v3.TypedExtensionConfig",
};

/**
 * What a proxy with this view would be sent, of these types: it asks for the routes, endpoints and extensions that its listeners and
 * clusters name; `hasEndpoints` leaves out those of clusters that nobody wants to see.
 */
export function resourcesOf(
  view: ProxyView,
  types: readonly ExplainedType[] = EXPLAINED_TYPES,
  source: Pick<CachingSource, "all" | "named" | "problems"> = createResourceSource({ onProblem: () => undefined }),
  hasEndpoints: (cluster: string) => boolean = () => true,
): Explained {
  const wants = (...some: readonly ExplainedType[]) => some.some((type) => types.includes(type));
  const sent = wants("cds", "eds") ? source.all(view, "CDS").resources : [];
  const clusters = shown("cds", sent);
  const listeners = wants("lds", "rds", "ecds") ? shown("lds", source.all(view, "LDS").resources) : [];
  const named = wants("rds", "ecds") ? namesIn(listeners) : { routes: [], extensions: [] };
  const byType: Readonly<Record<ExplainedType, () => readonly ExplainedResource[]>> = {
    cds: () => clusters,
    eds: () => shown("eds", source.named(view, "EDS", endpointNames(sent).filter(hasEndpoints)).resources),
    lds: () => listeners,
    rds: () => shown("rds", source.named(view, "RDS", named.routes).resources),
    ecds: () =>
      named.extensions.length === 0 ? [] : shown("ecds", source.named(view, "ECDS", named.extensions).resources),
    nds: () => shown("nds", source.all(view, "NDS").resources),
  };
  return {
    resources: EXPLAINED_TYPES.filter((type) => types.includes(type)).flatMap((type) => byType[type]()),
    problems: source.problems(view).map(({ effect, resource, reason, object }) => ({
      text: `${resource}: ${reason}${effect === "left-out" ? " (left out)" : ""}`,
      ...(object && { origin: object }),
    })),
  };
}

/** One resource that a proxy with this view would be sent, decoded; undefined where there is none of the name. */
export function resourceNamed(
  view: ProxyView,
  type: "cds" | "eds" | "lds" | "rds",
  name: string,
  source: Pick<CachingSource, "all" | "named">,
): unknown {
  const found =
    type === "cds" || type === "lds"
      ? source.all(view, type === "cds" ? "CDS" : "LDS").get(name)
      : source.named(view, type === "eds" ? "EDS" : "RDS", [name]).get(name);
  return found && new LazyResource(type, found).value;
}

function shown(type: ExplainedType, resources: readonly EncodedResource[]): readonly ExplainedResource[] {
  return resources.map((resource) => new LazyResource(type, resource));
}

class LazyResource implements ExplainedResource {
  readonly type: ExplainedType;
  readonly name: string;
  readonly version: string;
  readonly #resource: EncodedResource;
  #value: unknown;

  constructor(type: ExplainedType, resource: EncodedResource) {
    this.type = type;
    this.name = type === "nds" ? "" : resource.name;
    this.version = resource.version;
    this.#resource = resource;
  }

  get value(): unknown {
    this.#value ??= decode(this.type, contentOf(this.#resource.any));
    return this.#value;
  }
}

/** In place: nothing is copied. */
function contentOf(bytes: Buffer): Buffer {
  const { buffer, byteOffset, byteLength } = any.decode(bytes).value;
  return Buffer.from(buffer, byteOffset, byteLength);
}

function decode(type: ExplainedType, bytes: Buffer): unknown {
  return type === "nds" ? decodeNameTable(bytes) : decodeMessage(MESSAGES[type], bytes);
}

const EDS = 3;

/** Two members of every cluster are read in place: decoding thousands of them whole takes longer than making them. */
function endpointNames(clusters: readonly EncodedResource[]): readonly string[] {
  return clusters.flatMap(({ name, any: bytes }) => {
    const reader = new WireReader(contentOf(bytes));
    let [isEds, serviceName] = [false, ""];
    while (!reader.atEnd) {
      const { field, wire } = reader.tag();
      if (field === CLUSTER_TYPE && wire === WIRE_VARINT) isEds = reader.uint32() === EDS;
      else if (field === EDS_CONFIG && wire === WIRE_BYTES) serviceName = serviceNameIn(reader.bytes());
      else reader.skip(wire);
    }
    return isEds ? [serviceName || name] : [];
  });
}

/** Field numbers of envoy.config.cluster.v3.Cluster and of its EdsClusterConfig. */
const CLUSTER_TYPE = 2;
const EDS_CONFIG = 3;
const SERVICE_NAME = 2;

function serviceNameIn(config: Buffer): string {
  const reader = new WireReader(config);
  let found = "";
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === SERVICE_NAME && wire === WIRE_BYTES) found = reader.bytes().toString();
    else reader.skip(wire);
  }
  return found;
}

/** What HTTP connection managers name, wherever they stand. */
function namesIn(listeners: readonly ExplainedResource[]) {
  const routes = new Set<string>();
  const extensions = new Set<string>();
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const element of value) walk(element);
    else if (typeof value === "object" && value !== null) {
      const { rds, configDiscovery, name } = value as Json;
      if (rds !== undefined) routes.add(textOf(member(rds).routeConfigName));
      if (configDiscovery !== undefined) extensions.add(textOf(name));
      for (const each of Object.values(value)) walk(each);
    }
  };
  for (const { value } of listeners) walk(value);
  return { routes: [...routes].filter(Boolean), extensions: [...extensions].filter(Boolean) };
}

function member(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
