import { type ConfigObject, objectKey } from "../../istio-api/config-object.ts";
import { isHttp } from "../../istio-api/values/protocol.ts";
import { NODE_LABEL } from "../../istio-api/values/topology-labels.ts";
import type { ServiceTarget } from "../endpoint.ts";
import { labelName } from "../indexes/destination-rule-index.ts";
import { formatLocality } from "../locality.ts";
import type { ProxyNode } from "../proxy/proxy-node.ts";
import type { ScopeTraits } from "../push-snapshot.ts";
import { isHeadless } from "../service.ts";
import type { RegisteredWorkload } from "../service-registry.ts";
import type { SnapshotParts } from "../snapshot-parts.ts";
import { gatewayLabels, routerPorts } from "./gateway-content.ts";
import { policiesFor, policyDirection, selectorLabels } from "./policies.ts";

/** The part of a node that what it sees of others may follow from. */
export function scopeTraits(
  node: ProxyNode,
  targets: readonly ServiceTarget[],
  askedFor: ReadonlySet<string>,
  meets: readonly string[],
  isNamed: boolean,
): ScopeTraits {
  return Object.freeze({
    type: node.type,
    namespace: node.namespace,
    labels: pickLabels(withNodeName(node), askedFor),
    dnsDomain: node.dnsDomain,
    ipv4: node.ipv4,
    ipv6: node.ipv6,
    interception: node.interception,
    generator: node.generator,
    dnsCapture: node.dnsCapture,
    dnsAutoAllocate: node.dnsAutoAllocate,
    httpProxyPort: node.httpProxyPort,
    unprivileged: node.unprivileged,
    locality: node.locality,
    network: node.network,
    clusterId: node.clusterId,
    listening: node.listening,
    networkView: node.networkView,
    meets,
    ...(isNamed && { serviceCluster: node.serviceCluster }),
    ...(node.preservesHeaderCase !== undefined && { preservesHeaderCase: node.preservesHeaderCase }),
    ...(node.clientTls && { clientTls: node.clientTls }),
    ...(targets.some(isCalledByAddress) && { ownAddresses: node.addresses }),
    ...(node.type === "router" && { routerPorts: routerPorts(targets) }),
  });
}

/** Proxies of HTTP look at the name in a request; others have a listener for each address. */
function isCalledByAddress({ service, port }: ServiceTarget): boolean {
  return isHeadless(service) && !isHttp(port.protocol);
}

/** Where the proxy says which machine it runs on, it has the label that Kubernetes gives to pods of that machine. */
function withNodeName({ labels, metadata }: ProxyNode): ProxyNode["labels"] {
  const { NODE_NAME: name } = metadata;
  return typeof name === "string" && name !== "" ? { [NODE_LABEL]: name, ...labels } : labels;
}

export function scopeKey(traits: ScopeTraits, sidecar: ConfigObject<"Sidecar"> | undefined): string {
  return JSON.stringify([sidecar === undefined ? "" : objectKey(sidecar), ...Object.values(traits)]);
}

/** In order of their names, so that equal labels print equally. */
export function pickLabels(
  labels: Readonly<Record<string, string>>,
  askedFor: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const picked = Object.entries(labels).filter(([name]) => askedFor.has(name));
  return Object.freeze(Object.fromEntries(picked.sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Labels of a client of the namespace that some rule may look at. */
export function clientLabels(
  parts: SnapshotParts,
  { type, namespace }: Pick<ProxyNode, "type" | "namespace">,
): ReadonlySet<string> {
  const { mesh, configs, virtualServices, destinationRules } = parts;
  return new Set([
    ...virtualServices.sourceLabels,
    ...destinationRules.selectorLabels(namespace),
    ...destinationRules.failoverLabels,
    ...(mesh.localityLb.failoverPriority ?? []).map(labelName),
    ...(mesh.zoneAwareLb?.failoverPriority ?? []).map(labelName),
    ...selectorLabels(policiesFor(policyDirection({ type }), configs, mesh.rootNamespace, namespace)),
    ...(type === "router" ? gatewayLabels(configs) : []),
    ...(parts.services.hasChosenByNode ? [NODE_LABEL] : []),
  ]);
}

interface RegisteredNode {
  readonly fingerprint: string;
  readonly workload: ProxyNode;
}

/** Beside the nodes, so that a workload that did not change is the same value in every snapshot. */
const REGISTERED = new WeakMap<ProxyNode, RegisteredNode>();

/**
 * A workload as its registry knows it. Labels and locality that a platform has for it, or else its endpoint, count before what the proxy
 * says of itself: who writes services decides which rules reach a workload and where it runs. Of several services at its address the first
 * that has an answer is asked.
 */
export function asRegistered(
  node: ProxyNode,
  targets: readonly ServiceTarget[],
  registered?: RegisteredWorkload,
): ProxyNode {
  const labels = registered?.labels ?? targets[0]?.endpoint.labels;
  if (labels === undefined) return node;
  const located = [registered, ...targets.map(({ endpoint }) => endpoint)].find(
    (known) => known !== undefined && formatLocality(known.locality) !== "",
  );
  const locality = located?.locality ?? node.locality;
  const network = node.network || (registered?.network ?? "");
  const fingerprint = JSON.stringify([labels, locality, network]);
  const before = REGISTERED.get(node);
  if (before?.fingerprint === fingerprint) return before.workload;
  const workload = Object.freeze({ ...node, labels: Object.freeze({ ...node.labels, ...labels }), locality, network });
  REGISTERED.set(node, { fingerprint, workload });
  return workload;
}
