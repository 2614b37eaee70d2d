import type { Origin } from "../api.ts";

/** What a control plane says about one resource of a proxy: the objects that it was made from, and those of its parts. */
export interface ResourceOrigins {
  /** `cds`, `lds`, `rds`. */
  readonly type: string;
  readonly name: string;
  readonly origins: readonly ObjectOrigin[];
  /** `virtual host`, `route` (its name is `HOST INDEX`), `filter chain`, `access policy`, `mutual TLS`. */
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
  /** The object that counts instead: `VirtualService shop/reviews`. */
  readonly overruledBy?: string;
}

/** A rule object as far as a link to it needs it. */
type Listed = Omit<ObjectOrigin, "overruledBy"> & { readonly source?: Origin["source"] };

/** Origins by what they are of; empty where nothing is known. */
export interface ConfigOrigins {
  cluster(name: string): readonly Origin[];
  listener(name: string): readonly Origin[];
  listenerParts(name: string): readonly { readonly text: string; readonly origins: readonly Origin[] }[];
  host(routes: string, host: string): readonly Origin[];
  rule(routes: string, host: string, index: number): readonly Origin[];
}

export function createConfigOrigins(resources: readonly ResourceOrigins[], objects: readonly Listed[]): ConfigOrigins {
  const key = ({ kind, namespace, name }: Listed) => `${kind}/${namespace}/${name}`;
  const listed = new Map(objects.map((object) => [key(object), object]));
  const shown = (origins: readonly ObjectOrigin[] = []): readonly Origin[] =>
    origins.map((origin) => {
      const object = listed.get(key(origin));
      return {
        ...origin,
        isListed: object !== undefined,
        ...(object?.source === undefined ? {} : { source: object.source }),
      };
    });
  const byName = new Map(resources.map((resource) => [`${resource.type} ${resource.name}`, resource]));
  const partsOf = (type: string, name: string) => byName.get(`${type} ${name}`)?.parts ?? [];
  return {
    cluster: (name) => shown(byName.get(`cds ${name}`)?.origins),
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
