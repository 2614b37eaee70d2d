import { type ConsulInstance, type HealthEntry, toInstance } from "./consul-types.ts";
import type { ConsulClient } from "./create-consul-client.ts";

export interface ServiceReader {
  /** In the order of their nodes and ids. */
  read(name: string): Promise<readonly ConsulInstance[]>;
  /** Undefined where Consul says that the service is as it was when it was read last. */
  readChanged(name: string): Promise<readonly ConsulInstance[] | undefined>;
  instancesOf(body: unknown): readonly ConsulInstance[];
  /** Indexes of another server, or of one with an older state, say nothing about this one. */
  forgetIndexes(): void;
  forget(name: string): void;
}

/** No instance has this: what is left of the answer is the index, for a tenth of the bytes and nothing to parse. */
const INDEX_ALONE = `filter=${encodeURIComponent('Service.ID == ""')}`;

/** Reads services one by one. The index of an answer is that of the service alone, so that it tells whether the service has changed. */
export function createServiceReader(client: ConsulClient, datacenter: string, signal: AbortSignal): ServiceReader {
  const indexes = new Map<string, number>();
  const instancesOf = (body: unknown) =>
    (body as readonly HealthEntry[])
      .flatMap((entry) => toInstance(entry, datacenter) ?? [])
      .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const read = async (name: string) => {
    const { body, index } = await client.get(servicePath(name), { signal, whenAbsent: [] });
    indexes.set(name, index);
    return instancesOf(body);
  };
  return {
    read,
    readChanged: async (name) => {
      const known = indexes.get(name) ?? 0;
      if (known === 0) return read(name);
      const { index } = await client.get(`${servicePath(name)}?${INDEX_ALONE}`, { signal, whenAbsent: [] });
      return index === known ? undefined : read(name);
    },
    instancesOf,
    forgetIndexes: () => indexes.clear(),
    forget: (name) => void indexes.delete(name),
  };
}

export function servicePath(name: string): string {
  return `/v1/health/service/${encodeURIComponent(name)}`;
}

function keyOf({ node, id }: ConsulInstance): string {
  return `${node}\0${id}`;
}
