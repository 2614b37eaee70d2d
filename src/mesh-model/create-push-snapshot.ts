import type { ConfigObject } from "../istio-api/config-object.ts";
import type { Kind } from "../istio-api/kinds.ts";
import { type ConfigSnapshot, configsWithOnly, configsWithout } from "./config-store.ts";
import { type Derived, derive, worldKind } from "./derive/derived.ts";
import type { ServiceTarget } from "./endpoint.ts";
import { buildDestinationRuleIndex } from "./indexes/destination-rule-index.ts";
import { buildEndpointIndex } from "./indexes/endpoint-index.ts";
import { buildPeerAuthenticationIndex } from "./indexes/peer-authentication-index.ts";
import { buildServiceIndex } from "./indexes/service-index.ts";
import { buildVirtualServiceIndex } from "./indexes/virtual-service-index.ts";
import type { MeshSettings } from "./mesh-settings.ts";
import { type Networks, NO_NETWORKS } from "./networks.ts";
import type { ProxyNode } from "./proxy/proxy-node.ts";
import type {
  InboundScope,
  OutboundContent,
  OutboundScope,
  ProxyView,
  PushSnapshot,
  RuleProblem,
} from "./push-snapshot.ts";
import { findRuleProblems } from "./rule-problems.ts";
import { inboundScope } from "./scopes/inbound-scope.ts";
import { buildOutboundContent } from "./scopes/outbound-content.ts";
import { metConditions, type ProxyCondition, policiesFor, proxyConditions, selectorLabels } from "./scopes/policies.ts";
import { asRegistered, clientLabels, scopeKey, scopeTraits } from "./scopes/scope-traits.ts";
import { selectSidecar } from "./scopes/sidecar.ts";
import { createSnapshotCache, type SnapshotCache } from "./scopes/snapshot-cache.ts";
import type { Service } from "./service.ts";
import type { DescribedEndpoint, ServiceRegistry } from "./service-registry.ts";
import type { SnapshotParts } from "./snapshot-parts.ts";
import { namesProxies } from "./telemetry.ts";
import { NO_TOKEN_KEYS, type TokenKeys } from "./token-keys.ts";

export interface PushSnapshotInput {
  readonly mesh: MeshSettings;
  readonly configs: ConfigSnapshot;
  readonly registry: Pick<ServiceRegistry, "services" | "endpoints" | "describeEndpoints" | "targets" | "workload">;
  readonly version: string;
  /** None without. */
  readonly tokenKeys?: TokenKeys;
  /** None without. */
  readonly networks?: Networks;
  /** The one before; what did not change is taken over from it. */
  readonly previous?: PushSnapshot;
}

/** What rules look at in clients of one namespace. */
interface ClientSelectors {
  readonly labels: ReadonlySet<string>;
  readonly conditions: ReadonlyMap<string, ProxyCondition>;
  /** Labels by which rules choose workloads that they are for. */
  readonly ownLabels: ReadonlySet<string>;
}

/** The part of a snapshot that the next one may take over. */
interface Reusable {
  readonly input: Omit<PushSnapshotInput, "previous">;
  readonly parts: SnapshotParts;
  readonly contents: SnapshotCache<Derived<OutboundContent>>;
  readonly inbound: SnapshotCache<InboundScope>;
}

/** Beside the snapshots, so that only the next snapshot sees it. */
const REUSABLE = new WeakMap<PushSnapshot, Reusable>();

/** Takes down the mesh of this moment. Scopes are built when a proxy first asks for one and shared by all proxies alike. */
export function createPushSnapshot(input: PushSnapshotInput): PushSnapshot {
  const { mesh, configs, registry, version, tokenKeys = NO_TOKEN_KEYS, networks = NO_NETWORKS, previous } = input;
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
      known = {
        labels: clientLabels(parts, node),
        conditions: proxyConditions(policies),
        ownLabels: new Set(selectorLabels(policiesFor("inbound", configs, mesh.rootNamespace, namespace))),
      };
      asked.set(`${type} ${namespace}`, known);
    }
    return known;
  };
  const isNamed = namesProxies(mesh);
  const outboundScope = (node: ProxyNode, targets: readonly ServiceTarget[], sidecar: OutboundScope["sidecar"]) => {
    const { labels, conditions } = clientSelectors(node);
    const traits = scopeTraits(node, targets, labels, metConditions(node, conditions), isNamed);
    const key = scopeKey(traits, sidecar);
    let scope = scopes.get(key);
    if (scope === undefined) {
      const { value } = contents.getOrBuild(key, (known) =>
        known?.holdsIn(parts) === true
          ? known
          : derive(PARTS, parts, (reader) => buildOutboundContent(traits, sidecar, reader, known?.value)),
      );
      scope = toScope(key, value, parts, snapshot);
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
        inbound: inboundScope(workload, targets, sidecar, {
          parts,
          scopes: inbound,
          labels: clientSelectors(workload).ownLabels,
        }),
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
    networks,
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
  REUSABLE.set(snapshot, {
    input: { mesh, configs, registry, version, tokenKeys, networks },
    parts,
    contents,
    inbound,
  });
  return snapshot;
}

/**
 * The mesh as it would be without these rule objects: what they have no part in is the same values. Services are those of the registry now,
 * so that such meshes are compared with each other, not with the snapshot.
 */
export function snapshotWithout(snapshot: PushSnapshot, left: ReadonlySet<string>): PushSnapshot {
  const { input } = reusable(snapshot);
  const version = `${input.version} without ${[...left].join(" ")}`;
  return createPushSnapshot({ ...input, version, configs: configsWithout(input.configs, left), previous: snapshot });
}

/** What is left of a mesh. */
export interface MeshPart {
  /** Of the kinds that are named, in the order in which they win; of others all. */
  readonly objects: ReadonlyMap<Kind, readonly ConfigObject[]>;
  /** Host names of services; all without. */
  readonly hosts?: ReadonlySet<string>;
}

/** The mesh as it would be with a part of its rules and services alone. */
export function snapshotWithOnly(snapshot: PushSnapshot, { objects, hosts }: MeshPart): PushSnapshot {
  const { input } = reusable(snapshot);
  const { registry } = input;
  const services = hosts && registry.services().filter(({ hostname }) => hosts.has(hostname));
  return createPushSnapshot({
    ...input,
    version: `${input.version} in part`,
    configs: configsWithOnly(input.configs, objects),
    ...(services && {
      registry: {
        ...withMethods(registry),
        services: () => services,
        targets: (proxy) => registry.targets(proxy).filter(({ service }) => hosts.has(service.hostname)),
      },
    }),
    previous: snapshot,
  });
}

/** Members of registries may be getters. */
function withMethods(
  registry: PushSnapshotInput["registry"],
): Omit<PushSnapshotInput["registry"], "services" | "targets"> {
  return {
    endpoints: registry.endpoints,
    ...(registry.describeEndpoints && { describeEndpoints: registry.describeEndpoints }),
    ...(registry.workload && { workload: registry.workload }),
  };
}

/** The endpoints of a service with the objects that they come from, as its registry knows them now: nothing of it is held. */
export function describeEndpoints(snapshot: PushSnapshot, serviceKey: string): readonly DescribedEndpoint[] {
  const { parts, input } = reusable(snapshot);
  const keys = parts.endpoints.twins.get(serviceKey) ?? [serviceKey];
  return keys.flatMap((key) => input.registry.describeEndpoints?.(key) ?? []);
}

function reusable(snapshot: PushSnapshot): Reusable {
  const known = REUSABLE.get(snapshot);
  if (known === undefined) throw new Error("not a snapshot of a mesh");
  return known;
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

/** What contents are derived from: rule objects by kind and namespace, the rest as a whole. */
const PARTS = worldKind<SnapshotParts>({
  opened: { configs: {} },
  settledBy: { configs: ({ configs }) => configs },
});

function toScope(
  key: string,
  content: OutboundContent,
  { destinationRules, peerAuthentications, endpoints }: SnapshotParts,
  snapshot: PushSnapshot,
): OutboundScope {
  const { byHost, sidecar, gateways, ...shown } = content;
  const destinationRule = destinationRules.findFor(content.traits);
  return Object.freeze({
    ...shown,
    key,
    content,
    snapshot,
    ...(sidecar && { sidecar }),
    ...(gateways && { gateways }),
    service: (hostname: string, port?: number) => {
      const found = byHost.get(hostname);
      if (port === undefined) return found?.[0];
      return found?.find(({ ports }) => ports.some((candidate) => candidate.port === port));
    },
    destinationRule,
    serviceMtls: ({ namespace }: Service) => peerAuthentications.ofNamespace(namespace),
    modesIn: peerAuthentications.modesIn,
    answeredBy: {
      destinationRules: destinationRule,
      modes: peerAuthentications,
      endpoints,
      shapes: endpoints.shapes,
    },
  });
}
