import type { MeshFile, ServiceSpec, VersionSpec } from "./mesh-file.ts";
import type { ControlPlanePorts, Endpoint, Isolation, MeshPlan, OutsideEndpoint, PlannedService } from "./mesh-plan.ts";
import { MAX_RELAYS, MAX_WORKLOADS, namespaceNetwork, relayEndpoint, virtualAddress } from "./plan-addresses.ts";
import { type NamedKind, type PlanInputs, POD_PORTS, PORTS_PER_AGENT, planWorkload } from "./plan-workload.ts";

const CONTROL_PLANE_PORTS: ControlPlanePorts = { plaintext: 15_010, secure: 15_012, monitoring: 15_014, http: 8080 };

const PORTS_OF_CONTROL_PLANE = 4;

/** The application's own ports, of which one is given out also where none is used, and the agent's. */
function portsPer({ spec }: NamedKind): number {
  return Math.max(1, spec.ports.length) + PORTS_PER_AGENT;
}

/** Free ports that a mesh takes without namespaces, beside those it has already. */
export function portsNeeded(file: MeshFile, before?: MeshPlan): number {
  const fresh = kindsOf(file).filter((named) => keptPorts(named, before) === undefined);
  const own = before === undefined ? PORTS_OF_CONTROL_PLANE : 0;
  return fresh.reduce((sum, named) => sum + portsPer(named), own);
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
  if (isolation === "none") return gatewayObstacle(file);
  const reserved = [...Object.values(POD_PORTS), ...ENVOY_PORTS];
  const taken = file.services
    .filter(({ versions }) => versions.length > 0)
    .flatMap(({ name, ports }) => ports.map(({ port }) => ({ name, port })))
    .find(({ port }) => reserved.includes(port));
  if (taken === undefined) return undefined;
  const others = [...reserved].sort().join(", ");
  return `service ${taken.name}: port ${taken.port} is one of its sidecar's own in a namespace (${others}); choose another`;
}

/** Without namespaces gateways share the machine's ports. */
function gatewayObstacle({ services }: MeshFile): string | undefined {
  const owners = new Map<number, string>();
  for (const { name, ports, versions } of services.filter(({ kind }) => kind === "gateway")) {
    if (versions.some(({ replicas }) => replicas > 1))
      return `service ${name}: a gateway has several replicas in namespaces only, as they share its ports`;
    for (const { port } of ports) {
      const owner = owners.get(port);
      if (owner !== undefined) return `service ${name}: port ${port} is the gateway ${owner}'s already`;
      owners.set(port, name);
    }
  }
  return undefined;
}

/** Why a file cannot be planned, in a user's words; undefined when it can. */
export function planObstacle(file: MeshFile): string | undefined {
  const count = workloadCount(file);
  if (count > MAX_WORKLOADS) return `${count} workloads are planned, at most ${MAX_WORKLOADS} fit on one machine`;
  if (file.services.length > MAX_WORKLOADS)
    return `${file.services.length} services are planned, at most ${MAX_WORKLOADS} fit`;
  const wide = file.services.find(({ endpoints, ports }) => endpoints.length * ports.length > MAX_RELAYS);
  if (wide !== undefined)
    return `service ${wide.name}: ${wide.endpoints.length} endpoints with ${wide.ports.length} ports each, at most ${MAX_RELAYS} of both together fit`;
  return undefined;
}

/** Names, addresses and ports of everything. The same inputs give the same plan. */
export function planMesh(file: MeshFile, inputs: PlanInputs): MeshPlan {
  const { before } = inputs;
  const isNamespaced = inputs.isolation === "namespaces";
  const network = isNamespaced ? namespaceNetwork(inputs.slot, inputs.rootlessFolder) : undefined;
  const open = file.services.filter(({ ports }) => ports.length > 0).map(({ name }) => name);
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
    const ports = keptPorts(named, before) ?? free.splice(0, portsPer(named));
    return planWorkload({ ...named, number: numbers.get(named.name) ?? 0, ports, services, firsts, inputs });
  });
  return {
    name: file.name,
    namespace: file.namespace,
    isolation: inputs.isolation,
    proxyless: inputs.proxyless === true,
    egress: file.egress,
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

/** Names and labels of everything before it is started; addresses and ports are made up. */
export function previewPlan(file: MeshFile): MeshPlan {
  const ports = Array.from({ length: portsNeeded(file) }, (_, index) => index + 1);
  return planMesh(file, { isolation: "none", slot: 0, ports });
}

function numbersOf(
  numbered: readonly { readonly name: string; readonly number: number }[] = [],
): ReadonlyMap<string, number> {
  return new Map(numbered.map(({ name, number }) => [name, number]));
}

function kindsOf(file: Pick<MeshFile, "services">): readonly NamedKind[] {
  return file.services.flatMap((spec) => spec.versions.flatMap((kind) => replicasOf(spec, kind)));
}

/** The application's ports and the agent's, in the order in which they are given out. */
function keptPorts({ name, spec }: NamedKind, before: MeshPlan | undefined): readonly number[] | undefined {
  const previous = before?.workloads.find((each) => each.name === name);
  // One that begins or ceases to listen is another one.
  if (previous === undefined || previous.listens.length !== spec.ports.length) return undefined;
  const { admin, tap, status, envoyStatus, dns, envoyPrometheus } = previous.ports;
  const own = previous.listens.map(({ appPort }) => appPort);
  return [...(own.length === 0 ? [0] : own), admin, tap, status, envoyStatus, dns, envoyPrometheus];
}

function planService(file: MeshFile, spec: ServiceSpec, number: number, inputs: PlanInputs): readonly PlannedService[] {
  if (spec.ports.length === 0) return [];
  const { name, kind, ports, entry } = spec;
  const isNamespaced = inputs.isolation === "namespaces";
  return [
    {
      name,
      number,
      hostname: `${name}.${file.namespace}.svc.cluster.local`,
      isGateway: kind === "gateway",
      ports,
      entry,
      virtualAddress: isNamespaced ? virtualAddress(inputs.slot, number) : undefined,
      endpoints: spec.endpoints.map((_, index) => planEndpoint(spec, index, { ...inputs, number })),
    },
  ];
}

/** In namespaces through a relay for every port. */
function planEndpoint(
  { ports, endpoints }: ServiceSpec,
  index: number,
  { isolation, slot, number }: PlanInputs & { readonly number: number },
): OutsideEndpoint {
  const { host = "", port: own, labels = {} } = endpoints[index] ?? {};
  const there = ports.map(({ name, port }) => ({ name, host, port: own ?? port }));
  const byName = (found: readonly (Endpoint & { readonly name: string })[]) =>
    Object.fromEntries(found.map(({ name, port }) => [name, port]));
  if (isolation !== "namespaces") return { host, ports: byName(there), labels, relays: [] };
  const relayed = there.map(({ name, port }, at) => {
    const listen = relayEndpoint(slot, number, index * ports.length + at);
    return { name, ...listen, relay: { listen, to: { host, port } } };
  });
  const [first] = relayed;
  return { host: first?.host ?? "", ports: byName(relayed), labels, relays: relayed.map(({ relay }) => relay) };
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
