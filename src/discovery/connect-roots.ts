import { CloseStack } from "../base/close-stack.ts";
import { replicaName, startLease } from "./cluster/start-lease.ts";
import { type RootPublisher, startRootPublisher } from "./cluster/start-root-publisher.ts";
import { CLUSTER_IDENTITY, type ConnectedCa } from "./connect-ca.ts";
import type { KubernetesSource } from "./kubernetes-source.ts";
import type { StartDiscoveryOptions } from "./options.ts";
import type { RemoteClusters } from "./remote-clusters/start-remote-clusters.ts";
import { whileControlled } from "./remote-clusters/while-controlled.ts";

type RootOptions = Pick<
  StartDiscoveryOptions,
  "kubernetesSource" | "kubernetes" | "podName" | "systemNamespace" | "clusterId" | "log"
>;
type Roots = Pick<ConnectedCa, "authority">;

/** What injected proxies mount, where it is there. */
const CRL_CONFIG_MAP = "istio-ca-crl";

/** Roots of the mesh, and what they have revoked, in every namespace of the control plane's own cluster. */
export function publishRoots(options: RootOptions, ca: Roots, opened: CloseStack): void {
  if (options.kubernetesSource !== undefined) publishTo(options.kubernetesSource, options, ca, opened);
}

/**
 * One of several replicas writes them, by a lease in the cluster; without a name of its own a replica is identified by its process. Control
 * planes of several clusters that may write there agree by the same lease.
 */
function publishTo(source: KubernetesSource, options: RootOptions, { authority }: Roots, opened: CloseStack): void {
  const { podName = "", systemNamespace = "istio-system" } = options;
  const { api } = source;
  if (api === undefined) return;
  const { identity: { rootConfigMap } = CLUSTER_IDENTITY } = options.kubernetes ?? {};
  const log = options.log.scope("kube");
  const lease = startLease({
    api,
    namespace: systemNamespace,
    name: "istio-namespace-controller-election",
    identity: replicaName(podName),
    log,
    onChange: () => refresh(),
  });
  // One more may come at any time.
  const owned = opened.add(new CloseStack());
  const publishers: RootPublisher[] = [];
  const publish = (name: string, key: string, pem: () => string | undefined) => {
    const parts = { api, source, name, key, pem, isLeader: () => lease.isLeader, log };
    publishers.push(owned.add(startRootPublisher(parts)));
  };
  const refresh = () => {
    // Few meshes revoke certificates: the ConfigMaps of the others need not be looked at.
    if (publishers.length === 1 && authority.material.crlPem !== undefined)
      publish(CRL_CONFIG_MAP, "ca-crl.pem", () => authority.material.crlPem);
    for (const publisher of publishers) publisher.refresh();
  };
  publish(rootConfigMap, "root-cert.pem", () => authority.material.rootPem);
  refresh();
  opened.add(lease);
  opened.defer(authority.onChange(refresh));
}

/** Also in other clusters that are controlled from here, by what their system namespace says. */
export function publishRemoteRoots(options: RootOptions, ca: Roots, remote: Pick<RemoteClusters, "use">): void {
  const { clusterId = "Kubernetes", systemNamespace = "istio-system" } = options;
  const start = (source: KubernetesSource, opened: CloseStack) => publishTo(source, options, ca, opened);
  whileControlled({ remote, clusterId, systemNamespace, start, log: options.log.scope("kube") });
}
