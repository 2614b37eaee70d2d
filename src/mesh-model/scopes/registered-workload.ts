import type { ServiceTarget } from "../endpoint.ts";
import { formatLocality } from "../locality.ts";
import type { ProxyNode } from "../proxy/proxy-node.ts";

interface Registered {
  readonly said: string;
  readonly workload: ProxyNode;
}

/** Kept beside the nodes, so that a workload that did not change is the same value in every snapshot. */
const known = new WeakMap<ProxyNode, Registered>();

/**
 * A workload as its registry knows it. What is said of its endpoint counts before what the proxy says of itself: who writes services
 * decides which rules reach a workload and where it runs. Of several services at its address the first that has an answer is asked.
 */
export function asRegistered(node: ProxyNode, targets: readonly ServiceTarget[]): ProxyNode {
  const [target] = targets;
  if (target === undefined) return node;
  const { labels } = target.endpoint;
  const placed = targets.find(({ endpoint }) => formatLocality(endpoint.locality) !== "");
  const locality = placed?.endpoint.locality ?? node.locality;
  const said = JSON.stringify([labels, locality]);
  const before = known.get(node);
  if (before?.said === said) return before.workload;
  const workload = Object.freeze({ ...node, labels: Object.freeze({ ...node.labels, ...labels }), locality });
  known.set(node, { said, workload });
  return workload;
}
