import type { HealthCheck, ServiceSpec, VersionSpec } from "./mesh-file.ts";
import type { AgentPorts, AppPort, Call, Isolation, MeshPlan, PlannedService, Workload } from "./mesh-plan.ts";
import { loopbackAddress, namespaceNetwork } from "./plan-addresses.ts";

export interface PlanInputs {
  readonly isolation: Isolation;
  /** Which network of the machine this mesh has taken; two meshes have different ones. */
  readonly slot: number;
  /** Free ports, `portsNeeded` of them; unused with namespaces, where every workload has all ports. */
  readonly ports: readonly number[];
  readonly proxyless?: boolean;
  /** Namespaces of an ordinary user: the folder for what they have in place of files in /etc. */
  readonly rootlessFolder?: string | undefined;
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

/** Those of `AgentPorts`. */
export const PORTS_PER_AGENT = 6;

export interface NamedKind {
  readonly name: string;
  readonly spec: ServiceSpec;
  readonly kind: VersionSpec;
}

interface WorkloadInputs extends NamedKind {
  readonly number: number;
  readonly ports: readonly number[];
  readonly services: readonly PlannedService[];
  /** Number of the first workload of each service. */
  readonly firsts: ReadonlyMap<string, number>;
  readonly inputs: PlanInputs;
}

export function planWorkload(given: WorkloadInputs): Workload {
  const { name, spec, kind, number, inputs } = given;
  const isNamespaced = inputs.isolation === "namespaces";
  const own = given.ports.slice(0, -PORTS_PER_AGENT);
  const [admin = 0, tap = 0, status = 0, envoyStatus = 0, dns = 0, envoyPrometheus = 0] = given.ports.slice(own.length);
  const network = namespaceNetwork(inputs.slot, inputs.rootlessFolder);
  const listens = listensOf(given, own);
  const [first] = listens;
  return {
    name,
    number,
    service: spec.name,
    version: kind.version,
    kind: spec.kind,
    address: isNamespaced ? network.workloadAddress(number) : loopbackAddress(inputs.slot, 0, number),
    app: first === undefined || spec.kind === "gateway" ? undefined : { host: appHost(given), port: first.appPort },
    listens,
    ports: isNamespaced ? POD_PORTS : { admin, tap, status, envoyStatus, dns, envoyPrometheus },
    serviceAccount: kind.serviceAccount,
    labels: { app: spec.name, ...(kind.version === undefined ? {} : { version: kind.version }), ...kind.labels },
    command: kind.command,
    position: kind.position,
    directory: kind.directory,
    env: kind.env,
    calls: callsOf(given),
    callsAll: spec.calls === undefined,
    dependsOn: spec.dependsOn,
    healthCheck: ownHealthCheck(kind.healthCheck, listens),
    netns: isNamespaced ? network.namespaceName(number) : undefined,
  };
}

/** No proxy is in front of it: it is the endpoint itself. */
function isDirect({ spec, inputs }: WorkloadInputs): boolean {
  return inputs.proxyless === true || spec.kind !== "sidecar";
}

function appHost(given: WorkloadInputs): string {
  const { number, inputs } = given;
  if (inputs.isolation === "namespaces") return "0.0.0.0";
  return isDirect(given) ? loopbackAddress(inputs.slot, 0, number) : "127.0.0.1";
}

function listensOf(given: WorkloadInputs, free: readonly number[]): readonly AppPort[] {
  const isOwn = given.inputs.isolation === "namespaces" || isDirect(given);
  return given.spec.ports.map((spec, index) => ({ ...spec, appPort: isOwn ? spec.port : (free[index] ?? 0) }));
}

/** The file names ports of the service; the application may have others. */
function ownHealthCheck(check: HealthCheck | undefined, listens: readonly AppPort[]): HealthCheck | undefined {
  if (check === undefined || check.probe.kind === "command") return check;
  const { probe } = check;
  const port = listens.find((each) => each.port === probe.port)?.appPort ?? probe.port;
  return { ...check, probe: { ...probe, port } };
}

/** With namespaces plain names do; else one loopback address per caller and service, so that the address alone says who is meant. */
function callsOf(given: WorkloadInputs): readonly Call[] {
  const { spec, services, inputs } = given;
  return services.flatMap((service) => {
    const { name, ports, isGateway } = service;
    const [first] = ports;
    if (name === spec.name || isGateway || first === undefined || spec.calls?.includes(name) === false) return [];
    const host = inputs.isolation === "namespaces" ? name : loopbackOf(given, service);
    return [{ service: name, protocol: first.protocol, host, port: first.port, ports }];
  });
}

function loopbackOf(given: WorkloadInputs, service: PlannedService): string {
  const { number, firsts, inputs } = given;
  const isAlone = (inputs.proxyless === true || given.spec.kind === "proxyless") && service.endpoints.length === 0;
  return isAlone
    ? loopbackAddress(inputs.slot, 0, firsts.get(service.name) ?? 0)
    : loopbackAddress(inputs.slot, number + 1, service.number);
}
