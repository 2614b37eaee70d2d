import { CloseStack } from "../base/close-stack.ts";
import type { Logger } from "../base/logger.ts";
import {
  createKubernetesClient,
  findClusterAccess,
  type KubernetesMetrics,
  startReflector,
} from "../kubernetes/index.ts";
import type { KubernetesSettings } from "../settings/discovery-settings.ts";
import type { KubernetesSource, ObjectWatch, WatchOptions } from "./kubernetes-source.ts";

export interface StartedSource extends KubernetesSource {
  /** Ends the connections; watches have to be stopped before. */
  stop(): Promise<void>;
}

/** A client of the API server that settings name. Rejects where they cannot be used; a server that is away is waited for by the watches. */
export async function startKubernetesSource(
  { kubeconfig, environment }: KubernetesSettings,
  metrics: KubernetesMetrics,
  log: Logger,
): Promise<StartedSource> {
  await using opened = new CloseStack();
  const access = await findClusterAccess({ kubeconfig, env: environment });
  const client = createKubernetesClient({ access, env: environment });
  opened.defer(() => client.stop());
  log.info("Kubernetes is read", { context: client.name, server: client.server });
  const watch = <Reduced>({ resource, reduce, onChange }: WatchOptions<Reduced>): ObjectWatch => {
    const { name, ...kind } = resource;
    const reflector = startReflector<Reduced>({
      client,
      resource: name === undefined ? kind : { ...kind, fieldSelector: `metadata.name=${name}` },
      reduce,
      onChange,
      log,
      metrics,
    });
    return { synced: reflector.synced.catch(() => undefined), stop: () => reflector.stop() };
  };
  const owned = opened.move();
  return { watch, api: client, stop: () => owned.close() };
}
