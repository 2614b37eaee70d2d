import { fields, textOf } from "../../mesh-model/kubernetes-object.ts";
import type { KubernetesSource } from "../kubernetes-source.ts";
import type { RemoteClusters } from "../remote-clusters/start-remote-clusters.ts";

/** Versions of the kubelets of one cluster. */
interface Kubelets {
  /** Of the node if it is known, else of all: a pod without one may land on any. None before there is a node. */
  versions(node?: string): readonly string[];
  readonly synced: Promise<void>;
  stop(): Promise<void>;
}

export interface ClusterKubelets extends Pick<Kubelets, "versions" | "synced" | "stop"> {
  /** Of a cluster by its id, the own one where it is empty; undefined for a cluster that is not known. */
  of(cluster: string, node: string): readonly string[] | undefined;
}

export interface ClusterKubeletsOptions {
  readonly source: KubernetesSource;
  /** The own cluster's. */
  readonly clusterId: string;
  readonly remote: Pick<RemoteClusters, "use"> | undefined;
  /** Kubelets of the own cluster have changed. */
  onChange(): void;
}

/** Kubelets of the own cluster, and of the others from when they are known until they are not any more. */
export function watchKubelets({ source, clusterId, remote, onChange }: ClusterKubeletsOptions): ClusterKubelets {
  const own = watchNodes(source, onChange);
  const others = new Map<string, Kubelets>();
  remote?.use({
    cluster: ({ id, source: theirs }) => {
      const kubelets = watchNodes(theirs, () => undefined);
      others.set(id, kubelets);
      return async () => {
        others.delete(id);
        await kubelets.stop();
      };
    },
  });
  const isOwn = (cluster: string) => cluster === "" || cluster === clusterId;
  return { ...own, of: (cluster, node) => (isOwn(cluster) ? own : others.get(cluster))?.versions(node) };
}

function watchNodes(source: KubernetesSource, onChange: () => void): Kubelets {
  const byNode = new Map<string, string>();
  const watch = source.watch<string>({
    resource: { group: "", version: "v1", plural: "nodes" },
    reduce: ({ status }) => textOf(fields(fields(status).nodeInfo).kubeletVersion),
    onChange: (name, version) => {
      if (version === undefined) byNode.delete(name);
      else byNode.set(name, version);
      onChange();
    },
  });
  return {
    versions: (node = "") => {
      const assigned = byNode.get(node);
      return assigned === undefined ? [...new Set(byNode.values())].sort() : [assigned];
    },
    synced: watch.synced,
    stop: () => watch.stop(),
  };
}
