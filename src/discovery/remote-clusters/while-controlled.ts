import { CloseStack } from "../../base/close-stack.ts";
import type { Logger } from "../../base/logger.ts";
import { labelsOf } from "../../mesh-model/kubernetes-object.ts";
import type { StartedSource } from "../start-kubernetes-source.ts";
import type { KnownCluster, RemoteClusters } from "./start-remote-clusters.ts";

export interface ControlledOptions {
  readonly remote: Pick<RemoteClusters, "use">;
  /** The control plane's own. */
  readonly clusterId: string;
  readonly systemNamespace: string;
  /** The cluster is controlled from here. What is opened is closed when it is not any more. */
  readonly start: (source: StartedSource, opened: CloseStack) => void;
  readonly log: Logger;
}

/** Of the system namespace: ids of clusters whose control planes write to the cluster, comma separated; `*` for any. */
const CONTROLLERS = "topology.istio.io/controlPlaneClusters";

/** Other clusters that are controlled from here, for as long as their system namespaces say so. */
export function whileControlled(options: ControlledOptions): void {
  const { remote, clusterId, systemNamespace: name, start, log } = options;
  const follow = ({ id, source }: KnownCluster) => {
    let writing: CloseStack | undefined;
    let ended: Promise<unknown> = Promise.resolve();
    const set = (isWanted: boolean) => {
      if (isWanted === (writing !== undefined)) return;
      log.debug(isWanted ? "cluster is controlled from here" : "cluster is not controlled from here any more", {
        cluster: id,
      });
      if (writing !== undefined) ended = Promise.all([ended, writing.close()]);
      writing = isWanted ? new CloseStack() : undefined;
      if (writing !== undefined) start(source, writing);
    };
    const watch = source.watch<boolean>({
      resource: { group: "", version: "v1", plural: "namespaces", name },
      reduce: ({ metadata = {} }) =>
        metadata.name === name ? controlsFrom(labelsOf(metadata.annotations)[CONTROLLERS], clusterId) : undefined,
      onChange: (_key, isWanted = false) => set(isWanted),
    });
    return async () => {
      const stopped = watch.stop();
      set(false);
      await Promise.all([stopped, ended]);
    };
  };
  remote.use({ cluster: follow });
}

function controlsFrom(annotation: string | undefined, clusterId: string): boolean {
  const ids = (annotation ?? "").split(",").map((id) => id.trim());
  return ids.includes("*") || ids.includes(clusterId);
}
