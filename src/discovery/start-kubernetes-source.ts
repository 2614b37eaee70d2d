import type { Logger } from "../base/logger.ts";
import {
  type ClusterAccess,
  createKubernetesClient,
  type Freshness,
  type KubernetesMetrics,
  startReflector,
} from "../kubernetes/index.ts";
import type { KubernetesSource, ObjectWatch, WatchedResource, WatchOptions } from "./kubernetes-source.ts";

export interface KubernetesSourceOptions {
  readonly access: ClusterAccess;
  /** In metrics. */
  readonly clusterId: string;
  /** For credential plugins. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly metrics: KubernetesMetrics;
  readonly log: Logger;
}

export interface StartedSource extends KubernetesSource {
  freshness: NonNullable<KubernetesSource["freshness"]>;
  readonly api: NonNullable<KubernetesSource["api"]>;
  /** Ends the connections; watches have to be stopped before. */
  stop(): Promise<void>;
}

/** A client of one API server. It is connected to when something is asked of it; a server that is away is waited for by the watches. */
export function startKubernetesSource(options: KubernetesSourceOptions): StartedSource {
  const { access, clusterId, environment, metrics, log } = options;
  const client = createKubernetesClient({ access, env: environment });
  log.info("Kubernetes is read", { cluster: clusterId, context: client.name, server: client.server });
  const running = new Map<object, { readonly resource: string; freshness(): Freshness }>();
  const watch = <Reduced>({ resource, shape, reduce, onChange, onVersion }: WatchOptions<Reduced>): ObjectWatch => {
    const { name, ...kind } = resource;
    const reflector = startReflector<Reduced>({
      client,
      resource: name === undefined ? kind : { ...kind, fieldSelector: `metadata.name=${name}` },
      cluster: clusterId,
      shape,
      reduce,
      onChange,
      onVersion,
      log,
      metrics,
    });
    running.set(reflector, { resource: shownResource(resource), freshness: () => reflector.freshness() });
    return {
      synced: reflector.synced.catch(() => undefined),
      freshness: () => reflector.freshness(),
      stop: async () => {
        running.delete(reflector);
        await reflector.stop();
      },
    };
  };
  return {
    watch,
    freshness: () => [...running.values()].map(({ resource, freshness }) => ({ resource, ...freshness() })),
    api: client,
    stop: () => client.stop(),
  };
}

function shownResource({ group, plural, namespace, name }: WatchedResource): string {
  const kind = group === "" ? plural : `${plural}.${group}`;
  return [kind, ...(namespace === undefined && name === undefined ? [] : [`${namespace ?? "*"}/${name ?? "*"}`])].join(
    " ",
  );
}
