import { KINDS, type Kind } from "../../../src/istio-api/kinds.ts";
import type { ClusterAccess } from "../../../src/kubernetes/access/cluster-access.ts";
import { createKubernetesClient, type KubernetesClient } from "../../../src/kubernetes/client.ts";
import { KubernetesError } from "../../../src/kubernetes/kubernetes-error.ts";
import type { ApiObject, ResourceKind } from "../../../src/kubernetes/objects.ts";
import type { HostPort } from "../../../src/net/host-port.ts";
import { pluralOf } from "../../support/kubernetes/rule-definitions.ts";
import type { AdsNode } from "../../support/xds/following-client.ts";
import { contextOf } from "../discovery/case-context.ts";
import { compareCase } from "../discovery/compare-case.ts";
import { describeDifference } from "../discovery/difference.ts";
import type { Json } from "../discovery/json.ts";
import { askControlPlane } from "./ask-control-plane.ts";
import { nodeOfPod } from "./pod-node.ts";

export interface ComparedProxy {
  readonly node: string;
  readonly differences: readonly string[];
}

export interface CompareOptions {
  readonly access: ClusterAccess;
  readonly clusterId: string;
  readonly ours: HostPort;
  readonly peer: HostPort;
  /** Of the pods that are asked for; all when empty. */
  readonly namespaces: readonly string[];
}

/** Asks both control planes as every pod of the cluster that they read, of pods alike as one, and compares what the answers mean. */
export async function* compareControlPlanes(options: CompareOptions): AsyncGenerator<ComparedProxy> {
  const { access, clusterId, ours, peer, namespaces } = options;
  await using client = createKubernetesClient({ access, env: {} });
  const pods = (await listAll(client, { group: "", version: "v1", plural: "pods" })).filter(
    ({ metadata }) => namespaces.length === 0 || namespaces.includes(metadata.namespace ?? ""),
  );
  const context = contextOf(await readRules(client));
  for (const node of nodesOf(pods, clusterId)) {
    const [wanted, found] = await Promise.all([askControlPlane(peer, node), askControlPlane(ours, node)]);
    const golden = { ...wanted, context };
    yield { node: node.id, differences: compareCase(golden, found).map(describeDifference) };
  }
}

async function listAll(client: KubernetesClient, resource: ResourceKind): Promise<readonly ApiObject[]> {
  return (await client.list(resource)).items;
}

/** Objects that say what a better answer may be; kinds that the server does not define have none. */
async function readRules(client: KubernetesClient): Promise<readonly Json[]> {
  const kinds = Object.keys(KINDS) as Kind[];
  const lists = kinds.map(async (kind) => {
    const { group, versions } = KINDS[kind];
    const resource = { group, version: versions[0] ?? "v1", plural: pluralOf(kind) };
    const items = await listAll(client, resource).catch((failure: unknown) => {
      if (failure instanceof KubernetesError && failure.code === "not-found") return [];
      throw failure;
    });
    return items.map((item) => ({ ...item, kind }) as Json);
  });
  const services = await listAll(client, { group: "", version: "v1", plural: "services" });
  return [...(await Promise.all(lists)).flat(), ...services.map((item) => ({ ...item, kind: "Service" }) as Json)];
}

function nodesOf(pods: readonly ApiObject[], clusterId: string): readonly AdsNode[] {
  const byKind = new Map<string, AdsNode>();
  for (const pod of pods) {
    const node = nodeOfPod(pod, clusterId);
    const { namespace, labels } = pod.metadata;
    const alike = JSON.stringify([namespace, labels, node?.metadata.SERVICE_ACCOUNT]);
    if (node !== undefined && !byKind.has(alike)) byKind.set(alike, node);
  }
  return [...byKind.values()];
}
