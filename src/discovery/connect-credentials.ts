import type { CloseStack } from "../base/close-stack.ts";
import type { ConnectedConfig } from "./connect-config.ts";
import { createAccessReviews } from "./credentials/create-access-reviews.ts";
import { accountKey, type CredentialSource, createCredentialSource } from "./credentials/create-credential-source.ts";
import { watchClusterCredentials } from "./credentials/watch-cluster-credentials.ts";
import type { DiscoveryMetrics } from "./metrics.ts";
import type { StartDiscoveryOptions } from "./options.ts";

/** Certificates and keys that gateways name: of files first, then of the cluster, then of the config API, as with rules. */
export function connectCredentials(
  { kubernetesSource, clusterId: id = "Kubernetes", log }: StartDiscoveryOptions,
  { credentials: { files, memory } }: Pick<ConnectedConfig, "credentials">,
  metrics: Pick<DiscoveryMetrics, "credentialErrors">,
  opened: CloseStack,
): CredentialSource {
  const api = kubernetesSource?.api;
  const cluster = kubernetesSource &&
    api && {
      id,
      credentials: watchClusterCredentials(kubernetesSource, (key) => source.changed(key)),
      reviews: createAccessReviews({
        api,
        onChange: (namespace, account) => source.changed(accountKey(namespace, account)),
      }),
    };
  const source = createCredentialSource({
    first: files,
    cluster,
    last: [memory],
    errors: metrics.credentialErrors,
    log: log.scope("ads"),
  });
  for (const store of [...files, memory]) opened.defer(store.subscribe(source.changed));
  opened.defer(() => source.stop());
  return source;
}
