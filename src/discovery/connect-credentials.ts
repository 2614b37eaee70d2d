import type { CloseStack } from "../base/close-stack.ts";
import type { ClusterApi } from "./cluster/cluster-api.ts";
import type { ConnectedConfig } from "./connect-config.ts";
import { createAccessReviews } from "./credentials/create-access-reviews.ts";
import {
  accountKey,
  type CredentialCluster,
  type CredentialSource,
  createCredentialSource,
} from "./credentials/create-credential-source.ts";
import { watchClusterCredentials } from "./credentials/watch-cluster-credentials.ts";
import type { KubernetesSource } from "./kubernetes-source.ts";
import type { DiscoveryMetrics } from "./metrics.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import type { RemoteClusters } from "./remote-clusters/start-remote-clusters.ts";

/** Certificates and keys that gateways name: of files first, then of the cluster, then of the config API, as with rules. */
export function connectCredentials(
  { kubernetesSource, clusterId: ownId = "Kubernetes", log }: StartDiscoveryOptions,
  { credentials: { files, memory } }: Pick<ConnectedConfig, "credentials">,
  remote: Pick<RemoteClusters, "use"> | undefined,
  metrics: Pick<DiscoveryMetrics, "credentialErrors">,
  opened: CloseStack,
): CredentialSource {
  const clusterOf = (id: string, from: KubernetesSource, api: ClusterApi): CredentialCluster => ({
    id,
    credentials: watchClusterCredentials(from, (key) => source.changed(key)),
    reviews: createAccessReviews({
      api,
      onChange: (namespace, account) => source.changed(accountKey(namespace, account)),
    }),
  });
  const api = kubernetesSource?.api;
  const source = createCredentialSource({
    first: files,
    cluster: kubernetesSource && api && clusterOf(ownId, kubernetesSource, api),
    last: [memory],
    errors: metrics.credentialErrors,
    log: log.scope("ads"),
  });
  remote?.use({
    cluster: ({ id, source: from }) => source.addCluster(clusterOf(id, from, from.api)),
  });
  for (const store of [...files, memory]) opened.defer(store.subscribe(source.changed));
  opened.defer(() => source.stop());
  return source;
}
