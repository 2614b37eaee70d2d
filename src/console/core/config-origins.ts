import type { Origin } from "../api.ts";

/** What a control plane says about one resource of a proxy: the objects that it was made from, and those of its parts. */
export interface ResourceOrigins {
  /** `cds`, `eds`, `lds`, `rds`. */
  readonly type: string;
  readonly name: string;
  readonly origins: readonly ObjectOrigin[];
  /** `endpoint`, `virtual host`, `route` (its name is `HOST INDEX`), `filter chain`, `access policy`, `mutual TLS`. */
  readonly parts: readonly {
    readonly kind: string;
    readonly name: string;
    readonly origins: readonly ObjectOrigin[];
  }[];
}

export interface ObjectOrigin {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Of objects of files that the control plane reads. */
  readonly file?: string;
  readonly line?: number;
  /** Of objects of clusters: which has it, and its version there. */
  readonly cluster?: string;
  readonly resourceVersion?: string;
  /** The object that counts instead: `VirtualService shop/reviews`. */
  readonly overruledBy?: string;
}

/** A rule object as far as a link to it needs it. */
type Listed = Pick<ObjectOrigin, "kind" | "namespace" | "name"> & { readonly source?: Origin["source"] };

/** Origins by what they are of; empty where nothing is known. */
export interface ConfigOrigins {
  cluster(name: string): readonly Origin[];
  /** `10.0.0.2:8080` of a cluster. */
  endpoint(cluster: string, address: string): readonly Origin[];
  listener(name: string): readonly Origin[];
  listenerParts(name: string): readonly { readonly text: string; readonly origins: readonly Origin[] }[];
  host(routes: string, host: string): readonly Origin[];
  rule(routes: string, host: string, index: number): readonly Origin[];
}

export function createConfigOrigins(resources: readonly ResourceOrigins[], objects: readonly Listed[]): ConfigOrigins {
  const key = ({ kind, namespace, name }: Listed) => `${kind}/${namespace}/${name}`;
  const listed = new Map(objects.map((object) => [key(object), object]));
  const shown = (origins: readonly ObjectOrigin[] = []): readonly Origin[] =>
    origins.map(({ kind, namespace, name, file, line = 1, cluster, resourceVersion, overruledBy }) => {
      const object = listed.get(key({ kind, namespace, name }));
      const source = object?.source ?? (file === undefined ? undefined : { file, line });
      return {
        kind,
        namespace,
        name,
        ...(cluster !== undefined && { cluster }),
        ...(resourceVersion !== undefined && { resourceVersion }),
        ...(overruledBy !== undefined && { overruledBy }),
        isListed: object !== undefined,
        ...(source !== undefined && { source }),
      };
    });
  const byName = new Map(resources.map((resource) => [`${resource.type} ${resource.name}`, resource]));
  const partsOf = (type: string, name: string) => byName.get(`${type} ${name}`)?.parts ?? [];
  const endpoints = new Map<string, ReadonlyMap<string, readonly ObjectOrigin[]>>();
  const endpointsOf = (type: "cds" | "eds", cluster: string) => {
    const title = `${type} ${cluster}`;
    let known = endpoints.get(title);
    if (known === undefined) {
      const parts = partsOf(type, cluster).filter(({ kind }) => kind === "endpoint");
      known = new Map(parts.map((part) => [part.name, part.origins]));
      endpoints.set(title, known);
    }
    return known;
  };
  return {
    cluster: (name) => shown(byName.get(`cds ${name}`)?.origins),
    // Those of a cluster that are sent by themselves, or with it.
    endpoint: (cluster, address) =>
      shown(endpointsOf("eds", cluster).get(address) ?? endpointsOf("cds", cluster).get(address)),
    listener: (name) => shown(byName.get(`lds ${name}`)?.origins),
    listenerParts: (name) =>
      partsOf("lds", name)
        .filter(({ origins }) => origins.length > 0)
        .map((part) => ({ text: `${part.kind} ${part.name}`, origins: shown(part.origins) })),
    host: (routes, host) =>
      shown(partsOf("rds", routes).find(({ kind, name }) => kind === "virtual host" && name === host)?.origins),
    rule: (routes, host, index) => {
      const wanted = `${host} ${index}`;
      const isMeant = (name: string) => name === wanted || name.startsWith(`${wanted} `);
      return shown(partsOf("rds", routes).find(({ kind, name }) => kind === "route" && isMeant(name))?.origins);
    },
  };
}
