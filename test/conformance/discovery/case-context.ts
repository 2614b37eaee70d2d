import { parseAllDocuments } from "yaml";
import { type Json, list, object, objects, text } from "./json.ts";

/**
 * What a comparer must know of a case beyond the answers, to accept the better answers that the README beside the cases names.
 * Read from the case's files alone, never from our own model of them.
 */
export interface CaseContext {
  /** All addresses of each ServiceEntry host. */
  readonly addresses: ReadonlyMap<string, readonly string[]>;
  /** Addresses of the endpoints of hosts with resolution NONE. */
  readonly headless: ReadonlyMap<string, readonly string[]>;
  /** Target ports on which only UDP is served. */
  readonly udpPorts: ReadonlySet<number>;
  /** Ports of Sidecar ingress listeners with TLS settings of their own. */
  readonly ingressTlsPorts: ReadonlySet<number>;
  /** Hosts whose DestinationRule names a credential, which sidecars cannot have. */
  readonly credentialHosts: ReadonlySet<string>;
  /** Addresses of Kubernetes Services whose host a ServiceEntry has as well. */
  readonly sharedAddresses: ReadonlyMap<string, readonly string[]>;
  /** Which of the services that share a port names the inbound routes is left open. */
  readonly sharesInbound: boolean;
  /** Virtual hosts that may be without any address among their domains. */
  readonly addressFree: ReadonlySet<string>;
}

export const NO_CONTEXT: CaseContext = {
  addresses: new Map(),
  headless: new Map(),
  udpPorts: new Set(),
  ingressTlsPorts: new Set(),
  credentialHosts: new Set(),
  addressFree: new Set(),
  sharedAddresses: new Map(),
  sharesInbound: false,
};

/** The rule objects of a config.yaml, as plain data. */
export function readObjects(configYaml: string): readonly Json[] {
  return parseAllDocuments(configYaml)
    .map((document) => object(document.toJS()))
    .filter((entry) => text(entry.kind) !== "");
}

export function buildContext(configYaml: string, notes: Json = {}): CaseContext {
  return contextOf(readObjects(configYaml), notes);
}

export function contextOf(all: readonly Json[], notes: Json = {}): CaseContext {
  const entries = specs(all, "ServiceEntry");
  return {
    addresses: collect(entries, (spec) => list(spec.addresses).map(String)),
    headless: collect(
      entries.filter(({ spec }) => text(spec.resolution) === "NONE" || spec.resolution === undefined),
      (spec, namespace) => endpointAddresses(all, spec, namespace),
    ),
    udpPorts: udpTargetPorts(entries.map(({ spec }) => spec)),
    ingressTlsPorts: new Set(
      specs(all, "Sidecar")
        .flatMap(({ spec }) => objects(spec.ingress))
        .filter((ingress) => ingress.tls !== undefined)
        .map((ingress) => Number(object(ingress.port).number)),
    ),
    credentialHosts: new Set(
      specs(all, "DestinationRule")
        .filter(({ spec }) => JSON.stringify(spec).includes('"credentialName"') && spec.workloadSelector === undefined)
        .map(({ spec }) => text(spec.host)),
    ),
    sharedAddresses: sharedAddresses(all, new Set(entries.flatMap(({ spec }) => list(spec.hosts).map(String)))),
    sharesInbound: objects(notes.unstable).some(({ resource }) => resource === "virtualInbound"),
    addressFree: new Set(
      objects(notes.unstable)
        .filter((entry) => entry.file === "routes.json" && text(entry.accept).startsWith("none"))
        .flatMap((entry) => /virtual host (\S+)/.exec(text(entry.what))?.slice(1) ?? []),
    ),
  };
}

function sharedAddresses(all: readonly Json[], hosts: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
  const services = all
    .filter(({ kind }) => kind === "Service")
    .map(({ metadata, spec }) => {
      const { name, namespace } = object(metadata);
      return [`${text(name)}.${text(namespace)}.svc.cluster.local`, [text(object(spec).clusterIP)]] as const;
    });
  return new Map(services.filter(([host]) => hosts.has(host)));
}

interface Spec {
  readonly spec: Json;
  readonly namespace: string;
}

function specs(all: readonly Json[], kind: string): readonly Spec[] {
  return all
    .filter((entry) => entry.kind === kind)
    .map((entry) => ({ spec: object(entry.spec), namespace: text(object(entry.metadata).namespace) }));
}

function collect(
  entries: readonly Spec[],
  values: (spec: Json, namespace: string) => readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const byHost = new Map<string, readonly string[]>();
  for (const { spec, namespace } of entries) {
    for (const host of list(spec.hosts).map(String)) {
      byHost.set(host, [...(byHost.get(host) ?? []), ...values(spec, namespace)]);
    }
  }
  return byHost;
}

function endpointAddresses(all: readonly Json[], spec: Json, namespace: string): readonly string[] {
  const labels = Object.entries(object(object(spec.workloadSelector).labels));
  const selected = all.filter((entry) => {
    if (entry.kind !== "WorkloadEntry" || labels.length === 0) return false;
    const metadata = object(entry.metadata);
    const own = { ...object(object(entry.spec).labels), ...object(metadata.labels) };
    return metadata.namespace === namespace && labels.every(([name, value]) => object(own)[name] === value);
  });
  return [...objects(spec.endpoints), ...selected.map((entry) => object(entry.spec))].map(({ address }) =>
    text(address),
  );
}

function udpTargetPorts(entries: readonly Json[]): ReadonlySet<number> {
  const ports = entries.flatMap((spec) =>
    objects(spec.ports).flatMap((port) => {
      const named = objects(spec.endpoints).map((endpoint) => object(endpoint.ports)[text(port.name)]);
      const targets = [...named, port.targetPort, port.number].filter((target) => target !== undefined).map(Number);
      return targets.map((target) => ({ target, isUdp: text(port.protocol).toUpperCase() === "UDP" }));
    }),
  );
  const others = new Set(ports.filter(({ isUdp }) => !isUdp).map(({ target }) => target));
  return new Set(ports.filter(({ isUdp, target }) => isUdp && !others.has(target)).map(({ target }) => target));
}
