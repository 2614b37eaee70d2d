import type { Cluster } from "../protobuf/gen/envoy/config/cluster/v3.ts";
import type { ClusterLoadAssignment } from "../protobuf/gen/envoy/config/endpoint/v3.ts";
import type { Listener } from "../protobuf/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../protobuf/gen/envoy/config/route/v3.ts";
import type { Decision, Origin, Subject } from "./decision.ts";

/** By name; a Map, or something that makes its values as they are asked for. */
export interface Lookup<Value> {
  get(name: string): Value | undefined;
}

/** What a proxy was sent, in the JSON form of Envoy's API. */
export interface ProxyResources {
  readonly listeners: readonly Listener[];
  readonly clusters: Lookup<Cluster>;
  readonly endpoints: Lookup<ClusterLoadAssignment>;
  readonly routes: Lookup<RouteConfiguration>;
  /** Addresses of the names that the workload's resolver answers itself. */
  readonly names: Lookup<readonly string[]>;
}

export interface SimulatedProxy {
  /** `default/web-1`. */
  readonly name: string;
  readonly type: "sidecar" | "router";
  readonly addresses: readonly string[];
  /** SPIFFE name of its certificate. */
  readonly identity: string;
  /** Names without dots are looked up in these domains as well. */
  readonly searchDomains: readonly string[];
  readonly resources: ProxyResources;
}

/** The mesh around the two proxies of a request. */
export interface SimulatedMesh {
  /** The proxy in front of an address; undefined where there is none. */
  proxyAt(address: string): SimulatedProxy | undefined;
  /** What a part of a proxy's configuration was made from; empty when that is not known. */
  originsOf(proxy: SimulatedProxy, subject: Subject): readonly Origin[];
  /** Milliseconds since 1970, for tokens that expire. */
  readonly now: number;
}

/** What the walk through one proxy needs. */
export interface Place {
  readonly proxy: SimulatedProxy;
  readonly mesh: SimulatedMesh;
}

export function decide({ proxy, mesh }: Place, step: string, text: string, ...subjects: readonly Subject[]): Decision {
  const origins = subjects.flatMap((subject) => mesh.originsOf(proxy, subject));
  const seen = new Map(origins.map((origin) => [`${origin.kind}/${origin.namespace}/${origin.name}`, origin]));
  return { proxy: proxy.name, step, text, origins: [...seen.values()] };
}
