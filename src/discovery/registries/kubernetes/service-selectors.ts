import type { KnownService } from "./pod-targets.ts";

/** The services of a cluster by what they select, so that finding those of a pod does not look at all others of its namespace. */
export interface ServiceSelectors {
  get(key: string): KnownService | undefined;
  /** Undefined takes the service away. */
  set(key: string, service: KnownService | undefined): void;
  keys(): Iterable<string>;
  /** Those whose selector the labels fulfil, in the order of their names. */
  selecting(namespace: string, labels: Readonly<Record<string, string>>): readonly KnownService[];
  /** Those of the namespace that select nothing, in the order of their names. */
  withoutSelector(namespace: string): readonly KnownService[];
}

export function createServiceSelectors(): ServiceSelectors {
  const services = new Map<string, KnownService>();
  /** By one label of the selector; whoever fulfils the selector has that label. */
  const byLabel = new Map<string, Set<string>>();
  const unlink = (key: string, { reduced }: KnownService) => {
    const label = labelOf(reduced);
    const keys = byLabel.get(label);
    keys?.delete(key);
    if (keys?.size === 0) byLabel.delete(label);
  };
  const link = (key: string, { reduced }: KnownService) => {
    const label = labelOf(reduced);
    const keys = byLabel.get(label);
    if (keys === undefined) byLabel.set(label, new Set([key]));
    else keys.add(key);
  };
  const sorted = (keys: Iterable<string>) => [...keys].sort().flatMap((key) => services.get(key) ?? []);
  return {
    get: (key) => services.get(key),
    keys: () => services.keys(),
    set: (key, service) => {
      const before = services.get(key);
      if (before !== undefined) unlink(key, before);
      if (service === undefined) services.delete(key);
      else {
        services.set(key, service);
        link(key, service);
      }
    },
    selecting: (namespace, labels) => {
      const candidates = Object.entries(labels).flatMap(([name, value]) => [
        ...(byLabel.get(`${namespace}/${name}=${value}`) ?? []),
      ]);
      return sorted(candidates).filter(({ reduced: { selector } }) =>
        Object.entries(selector).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value),
      );
    },
    withoutSelector: (namespace) => sorted(byLabel.get(`${namespace}/`) ?? []),
  };
}

function labelOf({ namespace, selector }: KnownService["reduced"]): string {
  const [label] = Object.entries(selector);
  return label === undefined ? `${namespace}/` : `${namespace}/${label[0]}=${label[1]}`;
}
