import { isKind } from "../istio-api/kinds.ts";
import type { Origin } from "../simulate/index.ts";
import type { AggregateRegistry } from "./registries/create-aggregate-registry.ts";
import type { KubernetesStore } from "./stores/create-kubernetes-store.ts";
import type { FileStore } from "./stores/start-file-store.ts";

export interface LocatorParts {
  /** Objects of files count before those of the cluster. */
  readonly positionOf: FileStore["positionOf"];
  readonly cluster: Pick<KubernetesStore, "versionOf"> | undefined;
  /** Of the cluster whose rules are read. */
  readonly clusterId: string;
  readonly registry: Pick<AggregateRegistry, "objectVersions">;
}

/** Adds to an object where it is: file and line, or the cluster and its version there. An object that several clusters have is one for each. */
export type Locate = (origin: Origin) => readonly Origin[];

export function createLocator({ positionOf, cluster, clusterId, registry }: LocatorParts): Locate {
  return (origin) => {
    const { kind, namespace, name } = origin;
    if (!isKind(kind)) {
      const versions = registry.objectVersions(origin);
      const own = versions.filter((version) => origin.cluster === undefined || version.cluster === origin.cluster);
      return own.length === 0 ? [origin] : own.map((version) => ({ ...origin, ...version }));
    }
    const position = positionOf({ kind, namespace, name });
    if (position !== undefined) return [{ ...origin, ...position }];
    const resourceVersion = cluster?.versionOf({ kind, namespace, name });
    return [resourceVersion === undefined ? origin : { ...origin, cluster: clusterId, resourceVersion }];
  };
}
