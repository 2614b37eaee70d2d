import type { CloseStack } from "../base/close-stack.ts";
import { replicaName, startLease } from "./cluster/start-lease.ts";
import type { ConnectedKubernetes } from "./connect-kubernetes.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import { createEntryWriter } from "./workloads/create-entry-writer.ts";
import type { WorkloadStore } from "./workloads/create-workload-store.ts";
import { startEntryCleanup } from "./workloads/start-entry-cleanup.ts";
import { startWorkloadController, type WorkloadStreams } from "./workloads/start-workload-controller.ts";

interface WorkloadParts {
  readonly options: StartDiscoveryOptions;
  readonly store: WorkloadStore;
  /** Undefined where there is no cluster: entries are in memory alone. */
  readonly cluster: Pick<ConnectedKubernetes, "store" | "resource"> | undefined;
  readonly opened: CloseStack;
}

/** The defaults of the environment. */
const WORKLOADS = { registers: true, takesHealth: true, validatesIdentity: true, graceMs: 10_000 };

/** Workloads that register themselves. Entries whose group, or which themselves, are in the cluster are written there; others are in memory. */
export function connectWorkloads({ options, store, cluster, opened }: WorkloadParts): WorkloadStreams {
  const { workloadEntries: settings = WORKLOADS, kubernetesSource, podName, maxConnectionAgeMs } = options;
  const log = options.log.scope("wle");
  const controller = replicaName(podName);
  const api = kubernetesSource?.api;
  if (api === undefined || cluster === undefined || !(settings.registers || settings.takesHealth))
    return opened.add(startWorkloadController({ store, settings, controller, log }));
  const resource = () => cluster.resource("WorkloadEntry");
  const lease = startLease({
    api,
    namespace: options.systemNamespace ?? "istio-system",
    name: "istio-workload-entry-election",
    identity: controller,
    log,
    onChange: () => undefined,
  });
  opened.add(
    startEntryCleanup({
      api,
      resource,
      entries: () => cluster.store.snapshot.list("WorkloadEntry"),
      isLeader: () => lease.isLeader,
      graceMs: settings.graceMs,
      maxConnectionAgeMs,
      log,
    }),
  );
  opened.add(lease);
  return opened.add(
    startWorkloadController({
      store,
      settings,
      controller,
      writer: createEntryWriter({ api, resource, controller, log }),
      isStored: ({ kind, namespace, name }) =>
        resource() !== undefined && cluster.store.snapshot.get(kind, namespace, name) !== undefined,
      log,
    }),
  );
}
