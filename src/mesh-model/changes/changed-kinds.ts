import type { ObjectRef } from "../../istio-api/config-object.ts";
import type { ProxyView } from "../push-snapshot.ts";
import { contentDifference } from "./content-difference.ts";
import type { ChangedKind } from "./needs-push.ts";
import type { PushChanges } from "./push-changes.ts";

/**
 * The kinds of those changes that one proxy depends on: services it sees or serves, rules that are applied to it, policies of its own and
 * the root namespace. Empty: the proxy needs no push.
 */
export function changedKinds(
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
    // Services tell of themselves; groups are templates for entries that are not there yet.
    case "ServiceEntry":
    case "WorkloadEntry":
    case "WorkloadGroup":
      return false;
  }
}
