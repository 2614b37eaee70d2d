import type { ConfigObject } from "../../istio-api/config-object.ts";
import { resolveShortHost } from "../../istio-api/values/hostname.ts";
import { groupBy, keepEqual, keepEqualElements, sameElements } from "../lists.ts";
import type { EgressListener, OutboundContent, ScopeTraits, UnknownTraffic } from "../push-snapshot.ts";
import type { SnapshotParts } from "../snapshot-parts.ts";
import { gatewayContent } from "./gateway-content.ts";
import { buildEgressListener, buildScopeServices } from "./sidecar.ts";

/** What clients of the traits see. `before` is the content of the same traits and Sidecar object in an earlier snapshot. */
export function buildOutboundContent(
  traits: ScopeTraits,
  sidecarName: Pick<ConfigObject<"Sidecar">, "namespace" | "name"> | undefined,
  parts: SnapshotParts,
  before: OutboundContent | undefined,
): OutboundContent {
  const { mesh, configs, services: index } = parts;
  const { namespace } = traits;
  const sidecar = sidecarName && configs.get("Sidecar", sidecarName.namespace, sidecarName.name);
  const gateways = gatewayContent(traits, parts);
  const isLimited = sidecar !== undefined && sidecar.spec.egress.length > 0;
  const listeners = isLimited ? limited(sidecar, namespace, parts) : [unlimited(namespace, parts)];
  const egress = keepEqualElements(before?.egress, listeners);
  const found = isLimited ? buildScopeServices(egress, namespace, index) : index.visibleTo(namespace).services;
  const services = before !== undefined && sameElements(before.services, found) ? before.services : found;
  return keepEqual(before, {
    traits: before?.traits ?? traits,
    mesh,
    sidecar,
    egress,
    services,
    byHost: services === before?.services ? before.byHost : groupBy(services, ({ hostname }) => hostname),
    outboundTrafficPolicy: keepEqual(before?.outboundTrafficPolicy, trafficPolicy(sidecar, mesh)),
    gateways: gateways && keepEqual(before?.gateways, gateways),
  });
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

function trafficPolicy(sidecar: ConfigObject<"Sidecar"> | undefined, mesh: SnapshotParts["mesh"]): UnknownTraffic {
  const own = sidecar?.spec.outboundTrafficPolicy;
  if (sidecar === undefined || own === undefined) {
    const { outboundTrafficPolicy: mode } = mesh;
    return mode === "ALLOW_ANY_DYNAMIC_DNS" ? { mode: "ALLOW_ANY", looksUpHosts: true } : { mode };
  }
  if (own.egressProxy === undefined) return own;
  const host = resolveShortHost(own.egressProxy.host, sidecar.namespace, mesh.domainSuffix);
  return { ...own, egressProxy: { ...own.egressProxy, host } };
}
