import { clusterName } from "../envoy-config/index.ts";
import type { ObjectRef } from "../istio-api/config-object.ts";
import { hostCovers } from "../istio-api/values/hostname.ts";
import type { Endpoint } from "../mesh-model/endpoint.ts";
import type { ProxyView, VirtualServiceRule } from "../mesh-model/push-snapshot.ts";
import { selects } from "../mesh-model/selector.ts";
import { isHeadless, objectOf, type Service } from "../mesh-model/service.ts";
import type { Origin, Subject } from "../simulate/index.ts";
import { endpointOrigins } from "./endpoint-origins.ts";
import { createRuleLookup } from "./related-objects.ts";

/** What parts of a proxy's configuration were made from. Whoever records what generators read can take its place. */
export type OriginsOf = (subject: Subject) => readonly Origin[];

/** By the indexes that the generators ask: the objects that apply, those that others overrule after them. */
export function originsOf(view: ProxyView): OriginsOf {
  const ofEndpoint = endpointOrigins(view);
  const rulesOf = createRuleOrigins(view);
  return (subject) => {
    switch (subject.kind) {
      case "name":
        return nameOrigins(view, subject.host, ofEndpoint);
      case "listener":
        return listenerOrigins(view, subject.name, ofEndpoint);
      case "inbound-port":
        return [...inboundServices(view, subject.port), ...sidecarOrigin(view, "inbound")];
      case "virtual-host":
        return hostOrigins(view, subject.name, rulesOf);
      case "route":
        return routeOrigins(view, hostOf(subject.host), rulesOf);
      case "cluster":
        return clusterOrigins(view, subject.name);
      case "endpoint":
        return ofEndpoint(subject.cluster, subject.address, subject.port);
      case "access-policy":
        return policyNamed(subject.name);
      case "access-policies":
        return policies(view, "AuthorizationPolicy")
          .filter(({ spec }) => spec.action === subject.action)
          .map(toOrigin);
      case "token-rule":
        return policies(view, "RequestAuthentication")
          .filter(({ spec }) => spec.jwtRules.some(({ issuer }) => issuer === subject.issuer))
          .map(toOrigin);
      case "peer-authentication":
        return peerOrigins(view, subject.port);
    }
  };
}

function toOrigin({ kind, namespace, name }: ObjectRef): Origin {
  return { kind, namespace, name };
}

type OfEndpoint = ReturnType<typeof endpointOrigins>;

/** A service, or a pod of a headless one that has a name of its own. */
function nameOrigins(view: ProxyView, host: string, ofEndpoint: OfEndpoint): readonly Origin[] {
  const { services } = view.outbound;
  const named = services.filter(({ hostname }) => hostname === host);
  if (named.length > 0) return named.map(objectOf);
  const isNamed = ({ hostname }: Service, { hostName, subDomain }: Endpoint) =>
    Boolean(hostName && subDomain) && host === `${hostName}.${subDomain}${hostname.slice(hostname.indexOf("."))}`;
  return services.filter(isHeadless).flatMap((service) => memberOrigins(view, service, isNamed, ofEndpoint));
}

/** The service with those of its endpoints; nothing without any. */
function memberOrigins(
  { snapshot }: ProxyView,
  service: Service,
  isMember: (service: Service, endpoint: Endpoint) => boolean,
  ofEndpoint: OfEndpoint,
): readonly Origin[] {
  const members = snapshot.endpoints(service.key).filter((endpoint) => isMember(service, endpoint));
  const origins = members.flatMap(({ addresses: [address = ""], port, servicePortName }) => {
    const own = service.ports.find(({ name }) => name === servicePortName);
    return own === undefined ? [] : ofEndpoint(clusterName("outbound", own.port, "", service.hostname), address, port);
  });
  const unique = new Map(origins.map((origin) => [`${origin.kind}/${origin.namespace}/${origin.name}`, origin]));
  return members.length === 0 ? [] : [objectOf(service), ...unique.values()];
}

/** Services on the port, of the address where the listener has one: theirs, or that of an endpoint of a headless one. */
function listenerOrigins(view: ProxyView, name: string, ofEndpoint: OfEndpoint): readonly Origin[] {
  const [, address = "", digits = ""] = /^(.*)_(\d+)$/.exec(name) ?? [];
  if (digits === "") {
    const direction = name === "virtualInbound" ? "inbound" : "outbound";
    // All ports of the workload are chains of one listener.
    const served = direction === "inbound" ? new Set(view.inbound.targets.map(({ service }) => service)) : [];
    return [...[...served].map(objectOf), ...sidecarOrigin(view, direction)];
  }
  const port = Number(digits);
  const gateways = view.outbound.gateways?.gateways.filter(({ spec }) =>
    spec.servers.some((server) => server.port?.number === port),
  );
  // Ports of a gateway are those of its servers, whatever services have.
  if (gateways !== undefined) return gateways.map(toOrigin);
  const onPort = view.outbound.services.filter(({ ports }) => ports.some((one) => one.port === port));
  const own = onPort.filter(({ addresses, autoAllocated }) => {
    const auto = [autoAllocated?.ipv4, autoAllocated?.ipv6];
    return addresses.some((one) => one.split("/")[0] === address) || auto.includes(address);
  });
  const isThere = (_: Service, { addresses }: Endpoint) => addresses.includes(address);
  const members =
    own.length > 0
      ? []
      : onPort.filter(isHeadless).flatMap((service) => memberOrigins(view, service, isThere, ofEndpoint));
  const found = members.length > 0 ? members : (own.length > 0 ? own : onPort).map(objectOf);
  return [...found, ...sidecarOrigin(view, "outbound")];
}

function sidecarOrigin({ outbound, inbound }: ProxyView, direction: "inbound" | "outbound"): readonly Origin[] {
  const sidecar = direction === "inbound" ? inbound.sidecar : outbound.sidecar;
  return sidecar === undefined ? [] : [toOrigin(sidecar)];
}

function inboundServices({ inbound }: ProxyView, port: number): readonly Origin[] {
  return inbound.targets.filter(({ targetPort }) => targetPort === port).map(({ service }) => objectOf(service));
}

/** `web.default.svc.cluster.local:80`. */
function hostOf(virtualHost: string): string {
  return virtualHost.replace(/:\d+$/, "");
}

type RulesOf = ReturnType<typeof createRuleOrigins>;

function hostOrigins(view: ProxyView, virtualHost: string, rulesOf: RulesOf): readonly Origin[] {
  const host = hostOf(virtualHost);
  const service = view.outbound.service(host);
  const rule = service && view.outbound.destinationRule(service);
  return [
    ...rulesOf(host),
    ...(service === undefined ? [] : [objectOf(service)]),
    ...(rule?.objects ?? []).map(toOrigin),
  ];
}

/** Of rules; a service that no rule is about has a route of its own. */
function routeOrigins(view: ProxyView, host: string, rulesOf: RulesOf): readonly Origin[] {
  const rules = rulesOf(host);
  const service = view.outbound.service(host);
  return rules.length > 0 || service === undefined ? rules : [objectOf(service)];
}

/** The first counts that has routes for the proxy and the port; it overrules the others. */
function createRuleOrigins(view: ProxyView): (host: string) => readonly Origin[] {
  const rulesFor = createRuleLookup(view);
  const known = new Map<string, readonly Origin[]>();
  return (host) => {
    const found = known.get(host) ?? rankedOrigins(rulesFor(host), host);
    known.set(host, found);
    return found;
  };
}

function rankedOrigins(rules: readonly VirtualServiceRule[], host: string): readonly Origin[] {
  // The whole name before wildcards, the longest of these first.
  const ranked = rules.toSorted((a, b) => specificity(b, host) - specificity(a, host));
  const [first] = ranked;
  const winner = first && `${first.object.kind} ${first.object.namespace}/${first.object.name}`;
  return ranked.map(({ object }, at) => ({
    ...toOrigin(object),
    ...(at > 0 && winner !== undefined && { overruledBy: winner }),
  }));
}

function specificity({ hosts }: VirtualServiceRule, host: string): number {
  const covering = hosts.filter((one) => one === host || hostCovers(one, host));
  return Math.max(...covering.map((one) => (one === host ? 1000 : one.length)));
}

function clusterOrigins(view: ProxyView, name: string): readonly Origin[] {
  const [direction, port = "", , host = ""] = name.split("|");
  if (direction === "inbound") return [...inboundServices(view, Number(port)), ...sidecarOrigin(view, "inbound")];
  const service = view.outbound.service(host, Number(port)) ?? view.outbound.service(host);
  if (service === undefined) return [];
  const rule = view.outbound.destinationRule(service);
  return [objectOf(service), ...(rule?.objects ?? []).map(toOrigin)];
}

function policyNamed(key: string): readonly Origin[] {
  const [, namespace = "", name = ""] = /ns\[([^\]]*)\]-policy\[([^\]]*)\]/.exec(key) ?? [];
  return name === "" ? [] : [{ kind: "AuthorizationPolicy", namespace, name }];
}

/** Those of the root namespace and of the workload's own that select it. */
function policies<Of extends "AuthorizationPolicy" | "RequestAuthentication" | "PeerAuthentication">(
  { snapshot, node }: ProxyView,
  kind: Of,
) {
  const namespaces = [...new Set([snapshot.mesh.rootNamespace, node.namespace])];
  return namespaces
    .flatMap((namespace) => snapshot.configs.list(kind, namespace))
    .filter(({ spec }) => selects(spec.selector?.matchLabels ?? {}, node.labels));
}

/** The workload's own counts before that of its namespace, and that before the mesh's. */
function peerOrigins(view: ProxyView, port: number): readonly Origin[] {
  const { rootNamespace } = view.snapshot.mesh;
  const all = policies(view, "PeerAuthentication");
  const levels = [
    all.filter(({ spec, namespace }) => hasLabels(spec.selector?.matchLabels) && namespace !== rootNamespace),
    all.filter(({ spec, namespace }) => !hasLabels(spec.selector?.matchLabels) && namespace === view.node.namespace),
    all.filter(({ spec, namespace }) => !hasLabels(spec.selector?.matchLabels) && namespace === rootNamespace),
  ];
  for (const level of levels) {
    const said = level.find(({ spec }) => {
      const own = spec.portLevelMtls[String(port)]?.mode ?? spec.mtls?.mode ?? "UNSET";
      return own !== "UNSET";
    });
    if (said !== undefined) return [toOrigin(said)];
  }
  return [];
}

function hasLabels(labels: Readonly<Record<string, string>> | undefined): boolean {
  return Object.keys(labels ?? {}).length > 0;
}
