import { KINDS, type Kind } from "../../../src/istio-api/kinds.ts";

export interface TestObject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  /** Seconds since 1970; without it all are equally old. */
  readonly created?: number;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Objects as a text of documents; JSON is YAML. */
export function documents(...objects: readonly TestObject[]): string {
  return objects
    .map(({ kind, name, namespace = "default", created, spec }) => {
      const age = created === undefined ? {} : { creationTimestamp: new Date(created * 1000).toISOString() };
      const { group, versions } = KINDS[kind as Kind];
      const apiVersion = `${group}/${versions[0]}`;
      return JSON.stringify({ apiVersion, kind, metadata: { name, namespace, ...age }, spec });
    })
    .join("\n---\n");
}

export interface TestService {
  readonly name: string;
  readonly namespace?: string;
  readonly host?: string;
  readonly ports?: readonly number[];
  readonly created?: number;
  readonly exportTo?: readonly string[];
  readonly resolution?: "STATIC" | "DNS" | "NONE";
  readonly endpoints?: readonly Readonly<Record<string, unknown>>[];
}

/** A ServiceEntry for `name.namespace.svc.cluster.local` with HTTP ports. */
export function service({
  name,
  namespace = "default",
  host = `${name}.${namespace}.svc.cluster.local`,
  ports = [80],
  created,
  exportTo,
  resolution = "STATIC",
  endpoints = [{ address: "10.10.1.1", serviceAccount: name }],
}: TestService): TestObject {
  const spec = {
    hosts: [host],
    location: "MESH_INTERNAL",
    resolution,
    ports: ports.map((number) => ({ number, name: `http-${number}`, protocol: "HTTP" })),
    ...(resolution === "NONE" ? {} : { endpoints }),
    ...(exportTo && { exportTo }),
  };
  return { kind: "ServiceEntry", name, namespace, ...(created === undefined ? {} : { created }), spec };
}

/** A rule that sends everything to one destination, unless `spec` says more. */
export function virtualService(
  name: string,
  hosts: readonly string[],
  { namespace = "default", created, ...spec }: { namespace?: string; created?: number; [member: string]: unknown } = {},
): TestObject {
  const to = hosts[0] ?? "nowhere";
  const age = created === undefined ? {} : { created };
  return {
    kind: "VirtualService",
    name,
    namespace,
    ...age,
    spec: { hosts, http: [{ route: [{ destination: { host: to } }] }], ...spec },
  };
}

export function destinationRule(
  name: string,
  host: string,
  { namespace = "default", created, ...spec }: { namespace?: string; created?: number; [member: string]: unknown } = {},
): TestObject {
  const age = created === undefined ? {} : { created };
  return { kind: "DestinationRule", name, namespace, ...age, spec: { host, ...spec } };
}

export function peerAuthentication(
  name: string,
  namespace: string,
  spec: TestObject["spec"],
  created?: number,
): TestObject {
  return { kind: "PeerAuthentication", name, namespace, ...(created === undefined ? {} : { created }), spec };
}
