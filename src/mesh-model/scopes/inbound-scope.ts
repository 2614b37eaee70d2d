import { type ConfigObject, compareText, objectKey } from "../../istio-api/config-object.ts";
import type { ServiceTarget } from "../endpoint.ts";
import { sameElements } from "../lists.ts";
import type { ProxyNode } from "../proxy/proxy-node.ts";
import type { AppliedDestinationRule, InboundScope, Policy } from "../push-snapshot.ts";
import { compareServices, type Service } from "../service.ts";
import type { SnapshotParts } from "../snapshot-parts.ts";
import { keysFor, policiesFor, selectorLabels } from "./policies.ts";
import { pickLabels } from "./scope-traits.ts";
import type { SnapshotCache } from "./snapshot-cache.ts";

/** A scope and what it was made from, to find out whether it still holds. */
export interface InboundEntry {
  readonly scope: InboundScope;
  readonly mesh: SnapshotParts["mesh"];
  readonly policies: readonly Policy[];
  /** Of token rules of the policies that have none of their own. */
  readonly fetchedKeys: readonly (string | undefined)[];
  readonly services: readonly Service[];
  readonly rules: readonly (AppliedDestinationRule | undefined)[];
}

/** The scope of the node's workload, shared with those alike; one of an earlier snapshot is taken over when it would be the same. */
export function inboundScope(
  node: ProxyNode,
  found: readonly ServiceTarget[],
  sidecar: ConfigObject<"Sidecar"> | undefined,
  parts: SnapshotParts,
  entries: SnapshotCache<InboundEntry>,
): InboundScope {
  const { mesh, configs } = parts;
  const targets = Object.freeze(uniqueByPort([...found].sort(byAgeAndPort)));
  const policies = policiesFor("inbound", configs, mesh.rootNamespace, node.namespace);
  const key = keyOf(node, targets, sidecar, policies);
  return entries.getOrBuild(key, (before) => buildEntry({ key, node, targets, sidecar, policies }, parts, before))
    .scope;
}

interface EntryInput {
  readonly key: string;
  readonly node: ProxyNode;
  readonly targets: readonly ServiceTarget[];
  readonly sidecar: ConfigObject<"Sidecar"> | undefined;
  readonly policies: readonly Policy[];
}

function buildEntry(
  { key, node, targets, sidecar, policies }: EntryInput,
  { mesh, tokenKeys, peerAuthentications, destinationRules }: SnapshotParts,
  before: InboundEntry | undefined,
): InboundEntry {
  const services = targets.map(({ service }) => service);
  const rules = services.map((service) => destinationRules.find({ namespace: node.namespace }, service));
  const fetchedKeys = keysFor(policies, tokenKeys);
  const isSame =
    before !== undefined &&
    before.mesh === mesh &&
    before.scope.sidecar === sidecar &&
    sameElements(before.policies, policies) &&
    sameElements(before.fetchedKeys, fetchedKeys) &&
    sameElements(before.services, services) &&
    sameElements(before.rules, rules);
  if (isSame) return before;
  const { mode, ports } = peerAuthentications.ofWorkload(node.namespace, node.labels);
  const byService = new Map(services.map((service, at) => [service.key, rules[at]]));
  const scope: InboundScope = Object.freeze({
    key,
    targets,
    ingress: sidecar?.spec.ingress ?? [],
    ...(sidecar && { sidecar }),
    mtls: mode,
    portMtls: ports,
    destinationRule: (service: Service) => byService.get(service.key),
  });
  return { scope, mesh, policies, fetchedKeys, services, rules };
}

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
  policies: readonly Policy[],
): string {
  return JSON.stringify([
    node.type,
    node.namespace,
    pickLabels(node.labels, new Set(selectorLabels(policies))),
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
