import type { ObjectRef } from "../../istio-api/config-object.ts";
import type { Kind } from "../../istio-api/kinds.ts";
import type { XdsType } from "../../xds/xds-types.ts";
import { sameElements } from "../lists.ts";
import type { OutboundContent, ProxyView } from "../push-snapshot.ts";
import type { PushChanges } from "./push-changes.ts";

const TYPES: readonly XdsType[] = ["CDS", "EDS", "LDS", "RDS", "SDS", "ECDS", "NDS", "PCDS"];
/** What of a sidecar follows from its scopes, endpoints aside. */
const OF_SCOPES: ReadonlySet<XdsType> = new Set(["CDS", "LDS", "RDS", "NDS"]);

/** The changes between the snapshots of the two views can make a difference to this proxy. */
export function proxyDependsOn(view: ProxyView, previous: ProxyView, changes: PushChanges): boolean {
  return changedTypes(view, previous, changes).size > 0;
}

/** Types of which the proxy may have other resources than before. `previous` is its view of an earlier snapshot, if it has one. */
export function changedTypes(
  view: ProxyView,
  previous: ProxyView | undefined,
  changes: PushChanges,
): ReadonlySet<XdsType> {
  // A workload that is registered otherwise may be reached by other rules, of any kind.
  if (previous === undefined || changes.forced || view.node !== previous.node) return new Set(TYPES);
  const kinds = changedKinds(view, previous, changes);
  const sameScopes = view.outbound.content === previous.outbound.content && view.inbound === previous.inbound;
  // Gateways are also made of rules that no scope holds.
  const skips = (type: XdsType) => sameScopes && view.node.type === "sidecar" && OF_SCOPES.has(type);
  return new Set(TYPES.filter((type) => !skips(type) && needsPush(type, kinds, view.node.type)));
}

/**
 * The kinds of those changes that one proxy depends on: services it sees or serves, rules that are applied to it, policies of its own and
 * the root namespace. Empty: the proxy needs no push.
 */
function changedKinds(
  view: ProxyView,
  previous: ProxyView,
  { forced, objects, services, endpoints }: PushChanges,
): ReadonlySet<ChangedKind> {
  const kinds = new Set<ChangedKind>();
  if (forced) kinds.add("MeshConfig");
  const contents = [view.outbound.content, previous.outbound.content];
  const isSeen = (key: string) => contents.some(({ rules }) => rules.has(key));
  const served = [...view.inbound.targets, ...previous.inbound.targets];
  const isServed = (key: string) => served.some(({ service }) => service.key === key);
  if (some(services, isServed)) kinds.add("ServiceEntry");
  // Also without any service that changed: Sidecar objects hide services, and let hosts mean those of other namespaces.
  if (contentDifference(view.outbound.content, previous.outbound.content).hasOtherServices) kinds.add("ServiceEntry");
  for (const key of endpoints) {
    if (isSeen(key)) kinds.add("Endpoints");
    // Identities are in clusters; some services have their endpoints spelled out in clusters, listeners and names.
    const isReshaped = view.snapshot.endpointShape(key) !== previous.snapshot.endpointShape(key);
    if (isSeen(key) && isReshaped) kinds.add("ServiceEntry");
  }
  // What a workload serves may change with its own endpoint alone.
  if (!sameTargets(view, previous)) kinds.add("ServiceEntry");
  for (const object of objects) if (dependsOn(view, previous, object)) kinds.add(object.kind);
  return kinds;
}

function some(keys: Iterable<string>, test: (key: string) => boolean): boolean {
  for (const key of keys) if (test(key)) return true;
  return false;
}

function sameTargets({ inbound }: ProxyView, { inbound: before }: ProxyView): boolean {
  if (inbound === before || inbound.targets === before.targets) return true;
  const isSame = inbound.targets.length === before.targets.length;
  return (
    isSame &&
    inbound.targets.every(({ service, port, targetPort }, at) => {
      const other = before.targets[at];
      return other?.service === service && other.port === port && other.targetPort === targetPort;
    })
  );
}

function dependsOn(view: ProxyView, previous: ProxyView, { kind, namespace }: ObjectRef): boolean {
  const { node, snapshot, outbound, inbound } = view;
  const content = outbound.content;
  const before = previous.outbound.content;
  const difference = contentDifference(content, before);
  const isNear = namespace === node.namespace || namespace === snapshot.mesh.rootNamespace;
  switch (kind) {
    case "Sidecar":
      return content.sidecar !== before.sidecar;
    case "VirtualService":
      return node.type === "router" || difference.hasOtherVirtualServices;
    case "DestinationRule":
      return difference.hasOtherDestinationRules || inbound !== previous.inbound;
    case "PeerAuthentication":
      return (
        isNear || [...outbound.services, ...previous.outbound.services].some((seen) => seen.namespace === namespace)
      );
    case "Gateway":
      return node.type === "router";
    case "AuthorizationPolicy":
    case "RequestAuthentication":
    case "Telemetry":
    case "EnvoyFilter":
    case "ProxyConfig":
      return isNear;
    // Service registries report their own changes; groups are templates for entries that are not there yet.
    case "ServiceEntry":
    case "WorkloadEntry":
    case "WorkloadGroup":
      return false;
  }
}

/** What can differ between two snapshots. `ServiceEntry` stands for services of every registry. */
type ChangedKind = Kind | "Endpoints" | "MeshConfig";

/** Rules for the server's side alone. */
const ACCESS = ["AuthorizationPolicy", "RequestAuthentication"] as const;
const WORKLOADS = ["WorkloadEntry", "WorkloadGroup"] as const;

/** Kinds that cannot change resources of a type. */
const SKIPPED: Readonly<Record<"CDS" | "EDS" | "LDS" | "RDS" | "NDS", readonly ChangedKind[]>> = {
  CDS: ["Gateway", ...WORKLOADS, ...ACCESS, "Telemetry", "ProxyConfig", "Endpoints"],
  EDS: ["Gateway", "VirtualService", "WorkloadGroup", ...ACCESS, "Telemetry", "ProxyConfig", "Sidecar"],
  LDS: [...WORKLOADS, "ProxyConfig", "Endpoints"],
  RDS: [...WORKLOADS, ...ACCESS, "PeerAuthentication", "Telemetry", "ProxyConfig", "Endpoints"],
  NDS: [
    "Gateway",
    "VirtualService",
    "DestinationRule",
    "Telemetry",
    "EnvoyFilter",
    ...WORKLOADS,
    ...ACCESS,
    "PeerAuthentication",
    "ProxyConfig",
    "MeshConfig",
    "Endpoints",
  ],
};

/** Some of the changed kinds can make a difference to resources of the type. */
export function needsPush(
  type: XdsType,
  changed: Iterable<ChangedKind>,
  proxyType: "sidecar" | "router" = "sidecar",
): boolean {
  for (const kind of changed) if (canChange(type, kind, proxyType)) return true;
  return false;
}

function canChange(type: XdsType, kind: ChangedKind, proxyType: "sidecar" | "router"): boolean {
  // Trust bundles follow from settings alone.
  if (type === "PCDS") return kind === "MeshConfig";
  // Stored credentials are followed by those who use them, not by snapshots.
  if (type === "SDS") return kind === "MeshConfig";
  if (type === "ECDS") return kind === "EnvoyFilter";
  if (kind === (proxyType === "sidecar" ? "Gateway" : "Sidecar")) return false;
  // A gateway that passes TLS on has clusters of its own.
  if (type === "CDS" && kind === "Gateway") return true;
  return !SKIPPED[type].includes(kind);
}

/** How what one scope shows differs from what it showed before. */
interface ContentDifference {
  /** Some service that both have is under another rule. */
  readonly hasOtherDestinationRules: boolean;
  readonly hasOtherVirtualServices: boolean;
  /** Some service came, went, is another than before or counts in another order. */
  readonly hasOtherServices: boolean;
}

/** Proxies alike share their contents, so that the difference of two is DIFFERENCES once for all of them. Neither is held by it. */
const DIFFERENCES = new WeakMap<OutboundContent, WeakMap<OutboundContent, ContentDifference>>();

const NO_DIFFERENCE: ContentDifference = {
  hasOtherDestinationRules: false,
  hasOtherVirtualServices: false,
  hasOtherServices: false,
};

function contentDifference(content: OutboundContent, before: OutboundContent): ContentDifference {
  if (content === before) return NO_DIFFERENCE;
  const known = DIFFERENCES.get(content)?.get(before);
  if (known !== undefined) return known;
  const difference = {
    hasOtherDestinationRules: someDiffers(content.rules, before.rules),
    hasOtherVirtualServices: !sameVirtualServices(content, before),
    hasOtherServices: !sameElements(content.services, before.services),
  };
  const differences = DIFFERENCES.get(content) ?? new WeakMap<OutboundContent, ContentDifference>();
  DIFFERENCES.set(content, differences.set(before, difference));
  return difference;
}

function someDiffers(now: ReadonlyMap<string, unknown>, before: ReadonlyMap<string, unknown>): boolean {
  for (const [key, value] of now) if (before.has(key) && before.get(key) !== value) return true;
  return false;
}

function sameVirtualServices({ egress }: OutboundContent, { egress: before }: OutboundContent): boolean {
  if (egress === before) return true;
  if (egress.length !== before.length) return false;
  return egress.every(({ virtualServices }, at) => sameElements(virtualServices, before[at]?.virtualServices ?? []));
}
