import { createResourceSource } from "../../envoy-config/index.ts";
import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import { decodeMessage, type MessageName } from "../../protobuf/envoy/index.ts";
import { any } from "../../protobuf/wire/discovery.ts";
import { decodeNameTable } from "../../xds/name-table.ts";
import type { EncodedResource } from "../../xds/resource-source.ts";

/** Types in the order in which a proxy asks for them. */
export const EXPLAINED_TYPES = ["cds", "eds", "lds", "rds", "nds"] as const;
export type ExplainedType = (typeof EXPLAINED_TYPES)[number];

/** One resource as it is sent, in the JSON form of Envoy's API. */
export interface ExplainedResource {
  readonly type: ExplainedType;
  readonly name: string;
  /** Equal for equal content. */
  readonly version: string;
  readonly value: unknown;
}

export interface Explained {
  readonly resources: readonly ExplainedResource[];
  /** What was left out or not followed, and why. */
  readonly problems: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/** Everything that a proxy with this view would be sent: it asks for the routes and endpoints that its listeners and clusters name. */
export function resourcesOf(view: ProxyView): Explained {
  const source = createResourceSource({ onProblem: () => undefined });
  const clusters = decode("cds", "envoy.config.cluster.v3.Cluster", source.all(view, "CDS").resources);
  const listeners = decode("lds", "envoy.config.listener.v3.Listener", source.all(view, "LDS").resources);
  const routes = source.named(view, "RDS", routeNames(listeners)).resources;
  const endpoints = source.named(view, "EDS", endpointNames(clusters)).resources;
  const names = source.all(view, "NDS").resources.map(({ any: bytes, version }) => ({
    type: "nds" as const,
    name: "",
    version,
    value: decodeNameTable(any.decode(bytes).value),
  }));
  return {
    resources: [
      ...clusters,
      ...decode("eds", "envoy.config.endpoint.v3.ClusterLoadAssignment", endpoints),
      ...listeners,
      ...decode("rds", "envoy.config.route.v3.RouteConfiguration", routes),
      ...names,
    ],
    problems: source
      .problems(view)
      .map(({ effect, resource, reason }) => `${resource}: ${reason}${effect === "left-out" ? " (left out)" : ""}`),
  };
}

function decode(
  type: ExplainedType,
  message: MessageName,
  resources: readonly EncodedResource[],
): readonly ExplainedResource[] {
  return resources.map(({ name, version, any: bytes }) => {
    return { type, name, version, value: decodeMessage(message, Buffer.from(any.decode(bytes).value)) };
  });
}

function endpointNames(clusters: readonly ExplainedResource[]): readonly string[] {
  return clusters.flatMap(({ name, value }) => {
    const { type, edsClusterConfig } = member(value);
    return type === "EDS" ? [textOf(member(edsClusterConfig).serviceName) || name] : [];
  });
}

/** Those that HTTP connection managers name, wherever they stand. */
function routeNames(listeners: readonly ExplainedResource[]): readonly string[] {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const element of value) walk(element);
    else if (typeof value === "object" && value !== null) {
      const name = textOf(member((value as Json).rds).routeConfigName);
      if (name !== "") found.add(name);
      for (const each of Object.values(value)) walk(each);
    }
  };
  for (const { value } of listeners) walk(value);
  return [...found];
}

function member(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
