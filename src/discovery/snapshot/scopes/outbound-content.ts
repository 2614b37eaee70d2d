import type { ConfigObject } from "../../model/config-object.ts";
import { groupBy } from "../../model/group-by.ts";
import { resolveShortHost } from "../../model/hostname.ts";
import { sameElements } from "../../model/same-elements.ts";
import type { Service } from "../../model/service.ts";
import type { OutboundTrafficPolicy } from "../../specs/sidecar.ts";
import type { EndpointShape } from "../indexes/endpoint-index.ts";
import type { AppliedDestinationRule, EgressListener, MtlsMode, ScopeTraits } from "../push-snapshot.ts";
import type { SnapshotParts } from "../snapshot-parts.ts";
import { buildEgressListener } from "./egress-listener.ts";
import { type Policy, policiesFor } from "./policies.ts";
import { buildScopeServices } from "./scope-services.ts";

/** What a scope shows, all looked up, so that two of them can be compared. */
export interface OutboundContent {
  readonly mesh: SnapshotParts["mesh"];
  readonly sidecar: ConfigObject<"Sidecar"> | undefined;
  readonly egress: readonly EgressListener[];
  readonly services: readonly Service[];
  readonly byHost: ReadonlyMap<string, readonly Service[]>;
  readonly rules: ReadonlyMap<string, AppliedDestinationRule | undefined>;
  readonly modes: ReadonlyMap<string, MtlsMode>;
  readonly shapes: readonly EndpointShape[];
  readonly policies: readonly Policy[];
  readonly outboundTrafficPolicy: OutboundTrafficPolicy;
}

/** The previous content is returned when nothing in it would differ. */
export function buildOutboundContent(
  traits: ScopeTraits,
  sidecar: ConfigObject<"Sidecar"> | undefined,
  parts: SnapshotParts,
  previous?: OutboundContent,
): OutboundContent {
  const { mesh, configs, services: index, endpoints, destinationRules, peerAuthentications } = parts;
  const { namespace } = traits;
  const isLimited = sidecar !== undefined && sidecar.spec.egress.length > 0;
  const egress = keepEqual(isLimited ? limited(sidecar, namespace, parts) : [unlimited(namespace, parts)], previous);
  const found = isLimited ? buildScopeServices(egress, namespace, index) : index.visibleTo(namespace).services;
  const services = previous !== undefined && sameElements(previous.services, found) ? previous.services : found;
  const content: OutboundContent = {
    mesh,
    sidecar,
    egress,
    services,
    byHost: groupBy(services, ({ hostname }) => hostname),
    rules: new Map(services.map((service) => [service.key, destinationRules.find(traits, service)])),
    modes: new Map(services.map((service) => [service.key, peerAuthentications.ofNamespace(service.namespace)])),
    shapes: services.map(({ key }) => endpoints.shape(key)),
    policies: policiesFor("outbound", configs, mesh.rootNamespace, namespace),
    outboundTrafficPolicy: trafficPolicy(sidecar, namespace, mesh),
  };
  return previous !== undefined && isSame(previous, content) ? previous : Object.freeze(content);
}

/** Without limits: everything that is shown to the namespace. */
function unlimited(namespace: string, { services, virtualServices }: SnapshotParts): EgressListener {
  return Object.freeze({
    bind: "",
    captureMode: "DEFAULT",
    services: services.visibleTo(namespace).services,
    virtualServices: virtualServices.visibleTo(namespace),
  });
}

function limited(
  { spec }: ConfigObject<"Sidecar">,
  namespace: string,
  { services, virtualServices }: SnapshotParts,
): readonly EgressListener[] {
  const rules = virtualServices.visibleTo(namespace);
  // The one for all other ports must come last, or it would take what belongs to the others.
  const last = (port: unknown) => Number(port === undefined);
  return [...spec.egress]
    .sort((a, b) => last(a.port) - last(b.port))
    .map((listener) => buildEgressListener(listener, namespace, services, rules));
}

/** A listener that shows what it showed before stays the value it was, and so does the list. */
function keepEqual(listeners: readonly EgressListener[], previous: OutboundContent | undefined) {
  const kept = listeners.map((listener, at) => {
    const known = previous?.egress[at];
    return known !== undefined && isSameListener(known, listener) ? known : listener;
  });
  return previous !== undefined && sameElements(previous.egress, kept) ? previous.egress : Object.freeze(kept);
}

function isSameListener(a: EgressListener, b: EgressListener): boolean {
  const isAlike = a.port === b.port && a.bind === b.bind && a.captureMode === b.captureMode;
  return isAlike && sameElements(a.services, b.services) && sameElements(a.virtualServices, b.virtualServices);
}

function trafficPolicy(
  sidecar: ConfigObject<"Sidecar"> | undefined,
  namespace: string,
  mesh: SnapshotParts["mesh"],
): OutboundTrafficPolicy {
  const own = sidecar?.spec.outboundTrafficPolicy;
  if (own === undefined) return { mode: mesh.outboundTrafficPolicy };
  if (own.egressProxy === undefined) return own;
  const host = resolveShortHost(own.egressProxy.host, namespace, mesh.domainSuffix);
  return { ...own, egressProxy: { ...own.egressProxy, host } };
}

function isSame(a: OutboundContent, b: OutboundContent): boolean {
  return (
    a.mesh === b.mesh &&
    a.sidecar === b.sidecar &&
    a.egress === b.egress &&
    a.services === b.services &&
    sameElements(a.shapes, b.shapes) &&
    sameElements(a.policies, b.policies) &&
    sameElements([...a.rules.values()], [...b.rules.values()]) &&
    sameElements([...a.modes.values()], [...b.modes.values()])
  );
}
