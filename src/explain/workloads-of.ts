import type { KubernetesObject } from "../mesh-model/kubernetes-object.ts";
import { keyOf } from "../mesh-model/kubernetes-object.ts";
import type { XdsNode } from "../mesh-model/proxy/parse-node.ts";
import type { PushSnapshot } from "../mesh-model/push-snapshot.ts";
import { hasProxy, nodeOfPod } from "./node-of-pod.ts";

/** A workload of a mesh as its proxy would present itself. */
export interface Workload {
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly string[];
  readonly node: XdsNode;
  /** A proxy stands in front of it. */
  readonly hasProxy: boolean;
}

/** Pods, and the endpoints of ServiceEntries and WorkloadEntries that are no pods. */
export function workloadsOf(snapshot: PushSnapshot, pods: readonly KubernetesObject[]): readonly Workload[] {
  const workloads: Workload[] = [];
  const known = new Set<string>();
  const meshTls = endpointsWithTls(snapshot);
  for (const pod of pods) {
    const node = nodeOfPod(pod);
    if (node === undefined) continue;
    const addresses = addressesIn(node);
    for (const address of addresses) known.add(address);
    const [namespace = "", name = ""] = keyOf(pod.metadata ?? {}).split("/");
    const isMeshed = hasProxy(pod) || addresses.some((address) => meshTls.has(address));
    workloads.push({ namespace, name, addresses, node, hasProxy: isMeshed });
  }
  for (const [address, { namespace, name, labels, account, isTls }] of endpointsOf(snapshot)) {
    if (known.has(address)) continue;
    workloads.push({
      namespace,
      name,
      addresses: [address],
      node: nodeOf(address, { namespace, name, labels, account }),
      hasProxy: isTls,
    });
  }
  return workloads;
}

function addressesIn({ metadata }: XdsNode): readonly string[] {
  return String((metadata as { readonly INSTANCE_IPS?: string } | undefined)?.INSTANCE_IPS ?? "").split(",");
}

function endpointsWithTls(snapshot: PushSnapshot): ReadonlySet<string> {
  const all = snapshot.services.flatMap(({ key }) => snapshot.endpoints(key));
  return new Set(all.filter(({ tlsMode }) => tlsMode === "istio").flatMap(({ addresses }) => addresses));
}

interface Known {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly account: string;
}

function endpointsOf(snapshot: PushSnapshot): ReadonlyMap<string, Known & { readonly isTls: boolean }> {
  const found = new Map<string, Known & { readonly isTls: boolean }>();
  for (const service of snapshot.services) {
    if (service.meshExternal) continue;
    for (const { addresses, namespace, workloadName, labels, serviceAccount, tlsMode } of snapshot.endpoints(
      service.key,
    )) {
      const [address = ""] = addresses;
      if (address === "" || found.has(address)) continue;
      const account = /\/sa\/([^/]+)$/.exec(serviceAccount)?.[1] ?? "";
      const isTls = tlsMode === "istio";
      found.set(address, { namespace, name: workloadName || address, labels, account, isTls });
    }
  }
  return found;
}

function nodeOf(address: string, { namespace, name, labels, account }: Known): XdsNode {
  return {
    id: `sidecar~${address}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    metadata: {
      NAME: name,
      NAMESPACE: namespace,
      LABELS: labels,
      INSTANCE_IPS: address,
      CLUSTER_ID: "Kubernetes",
      SERVICE_ACCOUNT: account || "default",
    },
  };
}
