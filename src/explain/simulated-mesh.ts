import { memoize } from "../base/memoize.ts";
import { type CachingSource, createResourceSource } from "../envoy-config/index.ts";
import { parseNode } from "../mesh-model/proxy/parse-node.ts";
import type { ProxyView, PushSnapshot } from "../mesh-model/push-snapshot.ts";
import type { Cluster } from "../protobuf/gen/envoy/config/cluster/v3.ts";
import type { ClusterLoadAssignment } from "../protobuf/gen/envoy/config/endpoint/v3.ts";
import type { Listener } from "../protobuf/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../protobuf/gen/envoy/config/route/v3.ts";
import type { Lookup, Origin, ProxyResources, SimulatedMesh, SimulatedProxy } from "../simulate/index.ts";
import type { NameTable } from "../xds/name-table.ts";
import { originsOf } from "./origins-of.ts";
import { resourceNamed, resourcesOf } from "./resources-of.ts";
import type { Workload } from "./workloads-of.ts";

interface SimulatedMeshOptions {
  readonly snapshot: PushSnapshot;
  readonly workloads: readonly Workload[];
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Adds to an object where it stands. */
  readonly locate?: (origin: Origin) => Origin;
}

/** The proxies of a mesh with what they would be sent, made as they are asked for. */
export function simulatedMesh(
  options: SimulatedMeshOptions,
): SimulatedMesh & { proxyOf(workload: Workload): SimulatedProxy } {
  const { snapshot, workloads, now, locate = (origin) => origin } = options;
  // One for both proxies: most of what they are sent is the same.
  const source = createResourceSource({ onProblem: () => undefined });
  const proxies = new Map<Workload, SimulatedProxy>();
  const views = new Map<SimulatedProxy, ProxyView>();
  const proxyOf = (workload: Workload): SimulatedProxy => {
    const known = proxies.get(workload);
    if (known !== undefined) return known;
    const view = snapshot.view(parseNode(workload.node));
    const proxy = proxyOfView(workload, view, source);
    proxies.set(workload, proxy);
    views.set(proxy, view);
    return proxy;
  };
  const byAddress = new Map(
    workloads.flatMap((workload) => workload.addresses.map((address) => [address, workload] as const)),
  );
  return {
    now,
    proxyOf,
    proxyAt(address) {
      const workload = byAddress.get(address);
      return workload?.hasProxy === true ? proxyOf(workload) : undefined;
    },
    originsOf(proxy, subject) {
      const view = views.get(proxy);
      return view === undefined ? [] : originsOf(view)(subject).map(locate);
    },
  };
}

function proxyOfView({ namespace, name, addresses }: Workload, view: ProxyView, source: CachingSource): SimulatedProxy {
  const { mesh } = view.snapshot;
  const { node } = view;
  const account = node.serviceAccount || "default";
  const domain = mesh.domainSuffix;
  return {
    name: `${namespace}/${name}`,
    type: node.type,
    addresses,
    identity: `spiffe://${mesh.trustDomain}/ns/${node.namespace}/sa/${account}`,
    searchDomains: [`${node.namespace}.svc.${domain}`, `svc.${domain}`, domain],
    resources: lazyResources(view, source),
  };
}

/** A type is generated when it is looked at; of endpoints and routes what is asked for by name. A resource is decoded when it is. */
function lazyResources(view: ProxyView, source: CachingSource): ProxyResources {
  const all = (type: "lds" | "nds") => resourcesOf(view, [type], source).resources;
  const byName = <Of>(type: "cds" | "eds" | "rds"): Lookup<Of> =>
    lookup((name) => resourceNamed(view, type, name, source) as Of | undefined);
  const listeners = memoize(() => all("lds").map(({ value }) => value as Listener));
  const names = memoize(() => {
    const [table] = all("nds");
    return (table?.value as NameTable | undefined)?.table ?? {};
  });
  return {
    get listeners() {
      return listeners();
    },
    clusters: byName<Cluster>("cds"),
    endpoints: byName<ClusterLoadAssignment>("eds"),
    routes: byName<RouteConfiguration>("rds"),
    names: lookup((host) => (Object.hasOwn(names(), host) ? names()[host]?.ips : undefined)),
  };
}

/** Each name is looked up once. */
function lookup<Of>(find: (name: string) => Of | undefined): Lookup<Of> {
  const known = new Map<string, Of | undefined>();
  return {
    get(name) {
      if (!known.has(name)) known.set(name, find(name));
      return known.get(name);
    },
  };
}
