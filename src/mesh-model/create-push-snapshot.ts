import type { ConfigSnapshot } from "./config-store.ts";
import type { Endpoint, ServiceTarget } from "./endpoint.ts";
import { buildDestinationRuleIndex } from "./indexes/destination-rule-index.ts";
import { buildEndpointIndex } from "./indexes/endpoint-index.ts";
import { buildPeerAuthenticationIndex } from "./indexes/peer-authentication-index.ts";
import { buildServiceIndex } from "./indexes/service-index.ts";
import { buildVirtualServiceIndex } from "./indexes/virtual-service-index.ts";
import type { MeshSettings } from "./mesh-settings.ts";
import type { ProxyNode } from "./proxy/proxy-node.ts";
import type {
  OutboundContent,
  OutboundScope,
  ProxyView,
  PushSnapshot,
  RuleProblem,
  ScopeTraits,
} from "./push-snapshot.ts";
import { findRuleProblems } from "./rule-problems.ts";
import { type InboundEntry, inboundScope } from "./scopes/inbound-scope.ts";
import { buildOutboundContent, type CachedContent } from "./scopes/outbound-content.ts";
import { metConditions, type ProxyCondition, policiesFor, proxyConditions } from "./scopes/policies.ts";
import { asRegistered, clientLabels, scopeKey, scopeTraits } from "./scopes/scope-traits.ts";
import { selectSidecar } from "./scopes/sidecar.ts";
import { createSnapshotCache, type SnapshotCache } from "./scopes/snapshot-cache.ts";
import type { Service } from "./service.ts";
import type { ServiceRegistry } from "./service-registry.ts";
import type { SnapshotParts } from "./snapshot-parts.ts";
import { NO_TOKEN_KEYS, type TokenKeys } from "./token-keys.ts";

export interface PushSnapshotInput {
  readonly mesh: MeshSettings;
  readonly configs: ConfigSnapshot;
  readonly registry: Pick<ServiceRegistry, "services" | "endpoints" | "targets" | "workload">;
  readonly version: string;
  /** None without. */
  readonly tokenKeys?: TokenKeys;
  /** The one before; what did not change is taken over from it. */
  readonly previous?: PushSnapshot;
}

/** What rules look at in clients of one namespace. */
interface ClientSelectors {
  readonly labels: ReadonlySet<string>;
  readonly conditions: ReadonlyMap<string, ProxyCondition>;
}

/** The part of a snapshot that the next one may take over. */
interface Reusable {
  readonly parts: SnapshotParts;
  readonly contents: SnapshotCache<CachedContent>;
  readonly inbound: SnapshotCache<InboundEntry>;
}

/** Beside the snapshots, so that only the next snapshot sees it. */
const REUSABLE = new WeakMap<PushSnapshot, Reusable>();

/** Takes down the mesh of this moment. Scopes are built when a proxy first asks for one and shared by all proxies alike. */
export function createPushSnapshot(input: PushSnapshotInput): PushSnapshot {
  const { mesh, configs, registry, version, tokenKeys = NO_TOKEN_KEYS, previous } = input;
  const before = previous === undefined ? undefined : REUSABLE.get(previous);
  const parts = buildParts({ mesh, configs, registry, tokenKeys }, before?.parts);
  const contents = createSnapshotCache(before?.contents);
  const inbound = createSnapshotCache(before?.inbound);
  const asked = new Map<string, ClientSelectors>();
  const scopes = new Map<string, OutboundScope>();
  let problems: readonly RuleProblem[] | undefined;
  const views = new WeakMap<ProxyNode, ProxyView>();

  const clientSelectors = (node: ProxyNode) => {
    const { type, namespace } = node;
    let known = asked.get(`${type} ${namespace}`);
    if (known === undefined) {
      const policies = policiesFor("outbound", configs, mesh.rootNamespace, namespace);
      known = { labels: clientLabels(parts, node), conditions: proxyConditions(policies) };
      asked.set(`${type} ${namespace}`, known);
    }
    return known;
  };
  const outboundScope = (node: ProxyNode, targets: readonly ServiceTarget[], sidecar: OutboundScope["sidecar"]) => {
    const { labels, conditions } = clientSelectors(node);
    const traits = scopeTraits(node, targets, labels, metConditions(node, conditions));
    const key = scopeKey(traits, sidecar);
    let scope = scopes.get(key);
    if (scope === undefined) {
      const { content } = contents.getOrBuild(key, (known) => buildOutboundContent(traits, sidecar, parts, known));
      scope = toScope(key, traits, content, parts, snapshot);
      scopes.set(key, scope);
    }
    return scope;
  };
  const view = (node: ProxyNode): ProxyView => {
    let found = views.get(node);
    if (found === undefined) {
      const targets = registry.targets(node);
      const workload = asRegistered(node, targets, registry.workload?.(node));
      const sidecar = selectSidecar(configs, mesh.rootNamespace, workload);
      found = Object.freeze({
        node: workload,
        snapshot,
        outbound: outboundScope(workload, targets, sidecar),
        inbound: inboundScope(workload, targets, sidecar, parts, inbound),
      });
      views.set(node, found);
    }
    return found;
  };
  const snapshot: PushSnapshot = Object.freeze({
    version,
    mesh,
    configs,
    tokenKeys,
    services: parts.services.services,
    virtualServices: parts.virtualServices.rules,
    endpoints: parts.endpoints.endpoints,
    serviceAccounts: (serviceKey: string) => parts.endpoints.shape(serviceKey).accounts,
    endpointShape: parts.endpoints.shape,
    problems: () => {
      problems ??= findRuleProblems(parts);
      return problems;
    },
    view,
  });
  REUSABLE.set(snapshot, { parts, contents, inbound });
  return snapshot;
}

function buildParts(
  {
    mesh,
    configs,
    registry,
    tokenKeys,
  }: Pick<PushSnapshotInput, "mesh" | "configs" | "registry"> & Pick<SnapshotParts, "tokenKeys">,
  previous?: SnapshotParts,
): SnapshotParts {
  const given = registry.services();
  return {
    mesh,
    configs,
    tokenKeys,
    services: buildServiceIndex(given, mesh.defaultServiceExportTo, previous?.services),
    endpoints: buildEndpointIndex(given, registry.endpoints, previous?.endpoints),
    virtualServices: buildVirtualServiceIndex(configs.list("VirtualService"), mesh, previous?.virtualServices),
    destinationRules: buildDestinationRuleIndex(configs.list("DestinationRule"), mesh, previous?.destinationRules),
    peerAuthentications: buildPeerAuthenticationIndex(
      configs.list("PeerAuthentication"),
      mesh.rootNamespace,
      previous?.peerAuthentications,
    ),
  };
}

function toScope(
  key: string,
  traits: ScopeTraits,
  content: OutboundContent,
  { mesh, destinationRules, peerAuthentications }: SnapshotParts,
  snapshot: PushSnapshot,
): OutboundScope {
  const { sidecar, egress, services, outboundTrafficPolicy, gateways, rules, modes, byHost } = content;
  return Object.freeze({
    key,
    content,
    traits,
    snapshot,
    mesh,
    ...(sidecar && { sidecar }),
    egress,
    services,
    outboundTrafficPolicy,
    ...(gateways && { gateways }),
    service: (hostname: string, port?: number) => {
      const found = byHost.get(hostname);
      if (port === undefined) return found?.[0];
      return found?.find(({ ports }) => ports.some((candidate) => candidate.port === port));
    },
    destinationRule: (service: Service) =>
      rules.has(service.key) ? rules.get(service.key) : destinationRules.find(traits, service),
    serviceMtls: (service: Service) => modes.get(service.key) ?? peerAuthentications.ofNamespace(service.namespace),
    endpointMtls: ({ namespace, labels, port }: Endpoint) => peerAuthentications.ofPort(namespace, labels, port),
  });
}
