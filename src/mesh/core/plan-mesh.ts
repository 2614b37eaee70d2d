import type { MeshFile, ServiceSpec, VersionSpec } from "./mesh-file.ts";
import type {
  AgentPorts,
  Call,
  ControlPlanePorts,
  Endpoint,
  Isolation,
  MeshPlan,
  PlannedService,
  Workload,
} from "./mesh-plan.ts";
import { loopbackAddress, MAX_WORKLOADS, namespaceNetwork, relayEndpoint, virtualAddress } from "./plan-addresses.ts";

export interface PlanInputs {
  readonly isolation: Isolation;
  /** Which network of the machine this mesh has taken; two meshes have different ones. */
  readonly slot: number;
  /** Free ports, `portsNeeded` of them; unused with namespaces, where every workload has all ports. */
  readonly ports: readonly number[];
  readonly proxyless?: boolean;
  /** What runs already: a workload of the same name keeps its addresses and ports. */
  readonly before?: MeshPlan | undefined;
}

/** The ports of a pod; also those of every namespace. */
export const POD_PORTS: AgentPorts = {
  admin: 15_000,
  tap: 15_004,
  status: 15_020,
  envoyStatus: 15_021,
  dns: 15_053,
  envoyPrometheus: 15_090,
};
const CONTROL_PLANE_PORTS: ControlPlanePorts = { plaintext: 15_010, secure: 15_012, monitoring: 15_014, http: 8080 };

/** The application's own port and those of `AgentPorts`. */
const PORTS_PER_WORKLOAD = 7;
const PORTS_OF_CONTROL_PLANE = 4;

/** Free ports that a mesh takes without namespaces, beside those it has already. */
export function portsNeeded(file: MeshFile, before?: MeshPlan): number {
  const fresh = kindsOf(file).filter((named) => keptPorts(named, before) === undefined).length;
  return (before === undefined ? PORTS_OF_CONTROL_PLANE : 0) + PORTS_PER_WORKLOAD * fresh;
}

export function workloadCount(file: MeshFile): number {
  return file.services.reduce(
    (sum, { versions }) => sum + versions.reduce((all, { replicas }) => all + replicas, 0),
    0,
  );
}

/** The workloads of a file with their services. */
export function workloadNames(file: Pick<MeshFile, "services">): readonly { name: string; service: string }[] {
  return kindsOf(file).map(({ name, spec }) => ({ name, service: spec.name }));
}

/** Outbound, inbound and tunnel: what Envoy itself listens on, or what capture passes by, in a namespace. */
const ENVOY_PORTS = [15_001, 15_006, 15_008];

/** In a namespace an application shares the ports with its agent and Envoy; without, it gets a free port. */
export function portObstacle(file: MeshFile, isolation: Isolation): string | undefined {
  const reserved = [...Object.values(POD_PORTS), ...ENVOY_PORTS];
  const taken = file.services.find(
    ({ port, versions }) => port !== undefined && versions.length > 0 && reserved.includes(port),
  );
  if (isolation === "none" || taken === undefined) return undefined;
  const others = [...reserved].sort().join(", ");
  return `service ${taken.name}: port ${taken.port} is one of its sidecar's own in a namespace (${others}); choose another`;
}

/** Why a file cannot be planned, in a user's words; undefined when it can. */
export function planObstacle(file: MeshFile): string | undefined {
  const count = workloadCount(file);
  if (count > MAX_WORKLOADS) return `${count} workloads are planned, at most ${MAX_WORKLOADS} fit on one machine`;
  if (file.services.length > MAX_WORKLOADS)
    return `${file.services.length} services are planned, at most ${MAX_WORKLOADS} fit`;
  return undefined;
}

/** Names, addresses and ports of everything. The same inputs give the same plan. */
export function planMesh(file: MeshFile, inputs: PlanInputs): MeshPlan {
  const { before } = inputs;
  const isNamespaced = inputs.isolation === "namespaces";
  const network = isNamespaced ? namespaceNetwork(inputs.slot) : undefined;
  const open = file.services.filter(({ port }) => port !== undefined).map(({ name }) => name);
  const serviceNumbers = assignNumbers(open, numbersOf(before?.services));
  const services = file.services.flatMap((spec) => planService(file, spec, serviceNumbers.get(spec.name) ?? 0, inputs));
  const kinds = kindsOf(file);
  const names = kinds.map(({ name }) => name);
  const numbers = assignNumbers(names, numbersOf(before?.workloads));
  const firsts = new Map(kinds.map(({ spec, name }) => [spec.name, numbers.get(name) ?? 0] as const).toReversed());
  const free = [...inputs.ports];
  const [plaintext = 0, secure = 0, monitoring = 0, http = 0] =
    before === undefined ? free.splice(0, PORTS_OF_CONTROL_PLANE) : [];
  const workloads = kinds.map((named) => {
    const ports = keptPorts(named, before) ?? free.splice(0, PORTS_PER_WORKLOAD);
    return planWorkload({ ...named, number: numbers.get(named.name) ?? 0, ports, services, firsts, inputs });
  });
  return {
    name: file.name,
    namespace: file.namespace,
    isolation: inputs.isolation,
    proxyless: inputs.proxyless === true,
    workloads,
    services,
    controlPlane: before?.controlPlane ?? {
      host: network?.plan.hubAddress ?? "127.0.0.1",
      ports: isNamespaced ? CONTROL_PLANE_PORTS : { plaintext, secure, monitoring, http },
      netns: network?.plan.hub,
    },
    ...(network === undefined ? {} : { network: network.plan }),
  };
}

function numbersOf(
  numbered: readonly { readonly name: string; readonly number: number }[] = [],
): ReadonlyMap<string, number> {
  return new Map(numbered.map(({ name, number }) => [name, number]));
}

function kindsOf(file: Pick<MeshFile, "services">): readonly NamedKind[] {
  return file.services.flatMap((spec) => spec.versions.flatMap((kind) => replicasOf(spec, kind)));
}

/** The application's port and the agent's, in the order in which they are given out. */
function keptPorts({ name, spec }: NamedKind, before: MeshPlan | undefined): readonly number[] | undefined {
  const previous = before?.workloads.find((each) => each.name === name);
  // One that begins or ceases to listen is another one.
  if (previous === undefined || (previous.app === undefined) !== (spec.port === undefined)) return undefined;
  const { admin, tap, status, envoyStatus, dns, envoyPrometheus } = previous.ports;
  return [previous.app?.port ?? 0, admin, tap, status, envoyStatus, dns, envoyPrometheus];
}

function planService(file: MeshFile, spec: ServiceSpec, number: number, inputs: PlanInputs): readonly PlannedService[] {
  if (spec.port === undefined) return [];
  const { name, port, protocol, entry, address } = spec;
  const isNamespaced = inputs.isolation === "namespaces";
  return [
    {
      name,
      number,
      hostname: `${name}.${file.namespace}.svc.cluster.local`,
      port,
      protocol,
      entry,
      virtualAddress: isNamespaced ? virtualAddress(inputs.slot, number) : undefined,
      endpoint: address === undefined || !isNamespaced ? address : relayEndpoint(inputs.slot, number),
      relayTo: isNamespaced ? address : undefined,
    },
  ];
}

interface NamedKind {
  readonly name: string;
  readonly spec: ServiceSpec;
  readonly kind: VersionSpec;
}

/** `web`, `web-v2`, and with several replicas `web-v2-1`, `web-v2-2`. */
function replicasOf(spec: ServiceSpec, kind: VersionSpec): readonly NamedKind[] {
  const base = kind.version === undefined ? spec.name : `${spec.name}-${kind.version}`;
  return Array.from({ length: kind.replicas }, (_, index) => ({
    name: kind.replicas === 1 ? base : `${base}-${index + 1}`,
    spec,
    kind,
  }));
}

interface WorkloadInputs extends NamedKind {
  readonly number: number;
  readonly ports: readonly number[];
  readonly services: readonly PlannedService[];
  /** Number of the first workload of each service. */
  readonly firsts: ReadonlyMap<string, number>;
  readonly inputs: PlanInputs;
}

function planWorkload(given: WorkloadInputs): Workload {
  const { name, spec, kind, number, inputs } = given;
  const isNamespaced = inputs.isolation === "namespaces";
  const [appPort = 0, admin = 0, tap = 0, status = 0, envoyStatus = 0, dns = 0, envoyPrometheus = 0] = given.ports;
  const network = namespaceNetwork(inputs.slot);
  return {
    name,
    number,
    service: spec.name,
    version: kind.version,
    address: isNamespaced ? network.workloadAddress(number) : loopbackAddress(inputs.slot, 0, number),
    app: appOf(given, appPort),
    ports: isNamespaced ? POD_PORTS : { admin, tap, status, envoyStatus, dns, envoyPrometheus },
    serviceAccount: kind.serviceAccount,
    labels: { app: spec.name, ...(kind.version === undefined ? {} : { version: kind.version }), ...kind.labels },
    command: kind.command,
    position: kind.position,
    directory: kind.directory,
    env: kind.env,
    calls: callsOf(given),
    callsAll: spec.calls === undefined,
    netns: isNamespaced ? network.namespaceName(number) : undefined,
  };
}

function appOf({ spec, number, inputs }: WorkloadInputs, freePort: number): Endpoint | undefined {
  if (spec.port === undefined) return undefined;
  if (inputs.isolation === "namespaces") return { host: "0.0.0.0", port: spec.port };
  // No proxy is in front of it: it is the endpoint itself.
  if (inputs.proxyless) return { host: loopbackAddress(inputs.slot, 0, number), port: spec.port };
  return { host: "127.0.0.1", port: freePort };
}

/** With namespaces plain names do; else one loopback address per caller and service, so that the address alone says who is meant. */
function callsOf(given: WorkloadInputs): readonly Call[] {
  const { spec, services, inputs } = given;
  return services.flatMap((service) => {
    if (service.name === spec.name || spec.calls?.includes(service.name) === false) return [];
    const host = inputs.isolation === "namespaces" ? service.name : loopbackOf(given, service);
    return [{ service: service.name, protocol: service.protocol, host, port: service.port }];
  });
}

function loopbackOf({ number, firsts, inputs }: WorkloadInputs, service: PlannedService): string {
  const isDirect = inputs.proxyless && service.endpoint === undefined;
  return isDirect
    ? loopbackAddress(inputs.slot, 0, firsts.get(service.name) ?? 0)
    : loopbackAddress(inputs.slot, number + 1, service.number);
}

/**
 * Numbers from 0 for names, from which addresses follow. A name that had one keeps it; no new name gets one that was in use before, as
 * its last owner may still be there.
 */
export function assignNumbers(
  names: readonly string[],
  before: ReadonlyMap<string, number> = new Map(),
): ReadonlyMap<string, number> {
  const taken = new Set(before.values());
  let next = 0;
  return new Map(
    names.map((name) => {
      const previous = before.get(name);
      if (previous !== undefined) return [name, previous];
      while (taken.has(next)) next += 1;
      taken.add(next);
      return [name, next];
    }),
  );
}
