import type { ConfigObject } from "../../istio-api/config-object.ts";
import type { OutboundTrafficPolicy } from "../../istio-api/specs.ts";
import { resolveShortHost } from "../../istio-api/values/hostname.ts";
import { groupBy, sameElements } from "../lists.ts";
import type { EgressListener, OutboundContent, ScopeTraits } from "../push-snapshot.ts";
import type { Service } from "../service.ts";
import type { SnapshotParts } from "../snapshot-parts.ts";
import { gatewayContent } from "./gateway-content.ts";
import { policiesFor, policyDirection } from "./policies.ts";
import { buildEgressListener, buildScopeServices } from "./sidecar.ts";

/** A content and the parts it holds for, which may be newer than those it was made from. */
export interface CachedContent {
  readonly content: OutboundContent;
  readonly parts: SnapshotParts;
}

/** The previous content is reused when nothing in it would differ. `previous` is one of the same traits. */
export function buildOutboundContent(
  traits: ScopeTraits,
  sidecar: ConfigObject<"Sidecar"> | undefined,
  parts: SnapshotParts,
  previous?: CachedContent,
): CachedContent {
  const { mesh, configs, services: index, endpoints } = parts;
  const { namespace } = traits;
  const before = previous?.content;
  const policies = policiesFor(policyDirection(traits), configs, mesh.rootNamespace, namespace);
  const gateways = gatewayContent(traits, parts, policies, before?.gateways);
  // Most changes are of endpoints alone, which leave no list to compare.
  const isAlike = previous !== undefined && hasSameRules(previous, { sidecar, policies, gateways }, parts);
  if (isAlike && previous.parts.endpoints === endpoints) return { content: previous.content, parts };
  const isLimited = sidecar !== undefined && sidecar.spec.egress.length > 0;
  const listeners = isAlike ? [] : isLimited ? limited(sidecar, namespace, parts) : [unlimited(namespace, parts)];
  const egress = isAlike ? previous.content.egress : reuseEqual(listeners, before);
  const found = isLimited ? buildScopeServices(egress, namespace, index) : index.visibleTo(namespace).services;
  const services = before !== undefined && sameElements(before.services, found) ? before.services : found;
  const content: OutboundContent = {
    mesh,
    sidecar,
    egress,
    services,
    byHost: services === before?.services ? before.byHost : groupBy(services, ({ hostname }) => hostname),
    rules: isAlike ? previous.content.rules : lookUpRules(services, traits, parts, previous),
    modes: isAlike ? previous.content.modes : lookUpModes(services, parts),
    shapes: services.map(({ key }) => endpoints.shape(key)),
    policies,
    outboundTrafficPolicy: trafficPolicy(sidecar, mesh),
    gateways,
  };
  return { content: before !== undefined && isSame(before, content) ? before : Object.freeze(content), parts };
}

/** Nothing but endpoints can differ. */
function hasSameRules(
  { content, parts: before }: CachedContent,
  { sidecar, policies, gateways }: Pick<OutboundContent, "sidecar" | "policies" | "gateways">,
  parts: SnapshotParts,
): boolean {
  return (
    before.mesh === parts.mesh &&
    before.services === parts.services &&
    before.virtualServices === parts.virtualServices &&
    before.destinationRules === parts.destinationRules &&
    before.peerAuthentications === parts.peerAuthentications &&
    content.sidecar === sidecar &&
    content.gateways === gateways &&
    sameElements(content.policies, policies)
  );
}

/** Rules of services that were there before are looked up again only when some rule changed. */
function lookUpRules(
  services: readonly Service[],
  traits: ScopeTraits,
  { destinationRules }: SnapshotParts,
  previous: CachedContent | undefined,
): OutboundContent["rules"] {
  const known = previous?.parts.destinationRules === destinationRules ? previous.content.rules : undefined;
  const lookUp = (service: Service) =>
    known?.has(service.key) ? known.get(service.key) : destinationRules.find(traits, service);
  return new Map(services.map((service) => [service.key, lookUp(service)]));
}

function lookUpModes(services: readonly Service[], { peerAuthentications }: SnapshotParts): OutboundContent["modes"] {
  return new Map(services.map(({ key, namespace }) => [key, peerAuthentications.ofNamespace(namespace)]));
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
function reuseEqual(listeners: readonly EgressListener[], previous: OutboundContent | undefined) {
  const reused = listeners.map((listener, at) => {
    const known = previous?.egress[at];
    return known !== undefined && isSameListener(known, listener) ? known : listener;
  });
  return previous !== undefined && sameElements(previous.egress, reused) ? previous.egress : Object.freeze(reused);
}

function isSameListener(a: EgressListener, b: EgressListener): boolean {
  const isAlike = a.port === b.port && a.bind === b.bind && a.captureMode === b.captureMode;
  return isAlike && sameElements(a.services, b.services) && sameElements(a.virtualServices, b.virtualServices);
}

function trafficPolicy(
  sidecar: ConfigObject<"Sidecar"> | undefined,
  mesh: SnapshotParts["mesh"],
): OutboundTrafficPolicy {
  const own = sidecar?.spec.outboundTrafficPolicy;
  if (sidecar === undefined || own === undefined) return { mode: mesh.outboundTrafficPolicy };
  if (own.egressProxy === undefined) return own;
  const host = resolveShortHost(own.egressProxy.host, sidecar.namespace, mesh.domainSuffix);
  return { ...own, egressProxy: { ...own.egressProxy, host } };
}

function isSame(a: OutboundContent, b: OutboundContent): boolean {
  return (
    a.mesh === b.mesh &&
    a.sidecar === b.sidecar &&
    a.gateways === b.gateways &&
    a.egress === b.egress &&
    a.services === b.services &&
    sameElements(a.shapes, b.shapes) &&
    sameElements(a.policies, b.policies) &&
    sameElements([...a.rules.values()], [...b.rules.values()]) &&
    sameElements([...a.modes.values()], [...b.modes.values()])
  );
}
