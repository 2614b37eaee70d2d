import { type WorldKind, worldKind } from "../../mesh-model/derive/derived.ts";
import type { Endpoint } from "../../mesh-model/endpoint.ts";
import type { MtlsMode, OutboundScope, ProxyView } from "../../mesh-model/push-snapshot.ts";

const shown = ({ content }: OutboundScope) => content;
const modes = ({ answeredBy }: OutboundScope) => answeredBy.modes;
const shapes = ({ answeredBy }: OutboundScope) => answeredBy.shapes;
const configs = ({ snapshot }: OutboundScope) => snapshot.configs;

/** What answers a scope's lookups: they are asked again only when it is another value. */
const settledBy: WorldKind<OutboundScope>["settledBy"] = {
  traits: shown,
  mesh: shown,
  sidecar: shown,
  egress: shown,
  services: shown,
  outboundTrafficPolicy: shown,
  gateways: shown,
  service: shown,
  destinationRule: ({ answeredBy }) => answeredBy.destinationRules,
  serviceMtls: modes,
  modesIn: modes,
  "snapshot.endpoints": ({ answeredBy }) => answeredBy.endpoints,
  "snapshot.endpointShape": shapes,
  "snapshot.serviceAccounts": shapes,
  "snapshot.configs.list": configs,
  "snapshot.configs.get": configs,
  "snapshot.tokenKeys.get": ({ snapshot }) => snapshot.tokenKeys,
  "snapshot.networks": ({ snapshot }) => snapshot.networks,
  "snapshot.mesh": ({ snapshot }) => snapshot.mesh,
};

const SNAPSHOT = { configs: {}, tokenKeys: {} };

/** For what belongs to one scope: its traits never change. */
export const SCOPE = worldKind<OutboundScope>({ opened: { snapshot: SNAPSHOT }, settledBy });

/** For what scopes may share: each trait that is read counts by itself. */
export const ANY_SCOPE = worldKind<OutboundScope>({
  opened: {
    snapshot: SNAPSHOT,
    mesh: {},
    traits: { labels: {}, locality: {}, listening: { headers: { attemptCount: {}, xForwardedHost: {} } } },
  },
  settledBy,
});

/** For what belongs to one proxy. */
export const VIEW = worldKind<ProxyView>({
  opened: { snapshot: SNAPSHOT, inbound: {}, outbound: { snapshot: SNAPSHOT } },
  settledBy: {
    node: ({ node }) => node,
    inbound: ({ inbound }) => inbound,
    "snapshot.mesh": ({ snapshot }) => snapshot.mesh,
    "snapshot.configs.list": ({ snapshot }) => snapshot.configs,
    "snapshot.tokenKeys.get": ({ snapshot }) => snapshot.tokenKeys,
    "outbound.traits": ({ outbound }) => outbound.content,
    "outbound.service": ({ outbound }) => outbound.content,
    "outbound.services": ({ outbound }) => outbound.content,
    "outbound.destinationRule": ({ outbound }) => outbound.answeredBy.destinationRules,
  },
});

/** What an endpoint's own PeerAuthentication says. */
export function endpointMtls(
  scope: Pick<OutboundScope, "modesIn">,
  { namespace, labels, port }: Pick<Endpoint, "namespace" | "labels" | "port">,
): MtlsMode {
  return scope.modesIn(namespace).ofPort(labels, port);
}
