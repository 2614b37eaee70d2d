import { type ConfigObject, compareText, objectKey } from "../../istio-api/config-object.ts";
import type { ServiceTarget } from "../endpoint.ts";
import { keepEqual, keepEqualElements } from "../lists.ts";
import type { ProxyNode } from "../proxy/proxy-node.ts";
import type { InboundScope } from "../push-snapshot.ts";
import { compareServices } from "../service.ts";
import type { SnapshotParts } from "../snapshot-parts.ts";
import { pickLabels } from "./scope-traits.ts";
import type { SnapshotCache } from "./snapshot-cache.ts";

interface InboundParts {
  readonly parts: SnapshotParts;
  readonly scopes: SnapshotCache<InboundScope>;
  /** By which rules choose workloads of the namespace. */
  readonly labels: ReadonlySet<string>;
}

/** The scope of the node's workload, shared with those alike. */
export function inboundScope(
  node: ProxyNode,
  found: readonly ServiceTarget[],
  sidecar: ConfigObject<"Sidecar"> | undefined,
  { parts, scopes, labels }: InboundParts,
): InboundScope {
  const targets = uniqueByPort([...found].sort(byAgeAndPort));
  const key = keyOf(node, targets, sidecar, labels);
  return scopes.getOrBuild(key, (before) => buildScope({ key, node, targets, sidecar }, parts, before));
}

interface ScopeInput {
  readonly key: string;
  readonly node: ProxyNode;
  readonly targets: readonly ServiceTarget[];
  readonly sidecar: ConfigObject<"Sidecar"> | undefined;
}

function buildScope(
  { key, node, targets, sidecar }: ScopeInput,
  { peerAuthentications, destinationRules }: SnapshotParts,
  before: InboundScope | undefined,
): InboundScope {
  const { mode, ports } = peerAuthentications.ofWorkload(node.namespace, node.labels);
  const served = targets.map(({ service, port, targetPort }) => ({ service, port, targetPort }));
  return keepEqual(before, {
    key,
    targets: keepEqualElements(before?.targets, served),
    ingress: sidecar?.spec.ingress ?? NO_INGRESS,
    ...(sidecar && { sidecar }),
    mtls: mode,
    portMtls: ports,
    rules: new Map(
      served.map(({ service }) => [service.key, destinationRules.find({ namespace: node.namespace }, service)]),
    ),
  });
}

const NO_INGRESS: InboundScope["ingress"] = [];

/** Of services that share a port of the workload the oldest has it, whichever registry knows it; ages are in whole seconds. */
function byAgeAndPort(a: ServiceTarget, b: ServiceTarget): number {
  const age = ({ service }: ServiceTarget) => Math.floor(service.creationTime / 1000);
  return (
    age(a) - age(b) ||
    compareText(a.service.hostname, b.service.hostname) ||
    compareServices(a.service, b.service) ||
    a.port.port - b.port.port
  );
}

/** A workload with several addresses is found once for each. */
function uniqueByPort(targets: readonly ServiceTarget[]): readonly ServiceTarget[] {
  const seen = new Set<string>();
  return targets.filter(({ service, port, targetPort }) => {
    const name = `${targetPort} ${port.port} ${service.key}`;
    return !seen.has(name) && seen.add(name);
  });
}

function keyOf(
  node: ProxyNode,
  targets: readonly ServiceTarget[],
  sidecar: ConfigObject<"Sidecar"> | undefined,
  labels: ReadonlySet<string>,
): string {
  return JSON.stringify([
    node.type,
    node.namespace,
    pickLabels(node.labels, labels),
    node.ipv4,
    node.ipv6,
    node.interception,
    node.generator,
    node.unprivileged,
    node.listening,
    node.serverTls ?? null,
    sidecar === undefined ? "" : objectKey(sidecar),
    targets.map(({ service, port, targetPort }) => [service.key, port.port, targetPort]),
  ]);
}
