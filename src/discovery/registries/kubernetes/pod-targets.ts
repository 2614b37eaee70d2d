import type { ServiceTarget } from "../../../mesh-model/endpoint.ts";
import { listOf, numberOf, textOf } from "../../../mesh-model/kubernetes-object.ts";
import type { Service } from "../../../mesh-model/service.ts";
import type { ProxyAddresses } from "../../../mesh-model/service-registry.ts";
import { toEndpoint, type Workload } from "../convert-workload.ts";
import { workloadPort } from "./convert-endpoints.ts";
import { type PlacedPod, type PodOrigin, placePod } from "./convert-pod.ts";
import type { NamedPort } from "./reduce-pod.ts";
import type { ReducedService, ReducedServicePort } from "./reduce-service.ts";

/** A Service and what the mesh made of it. */
export interface KnownService {
  readonly reduced: ReducedService;
  readonly service: Service;
}

/** What a pod serves: the target ports of the services that select it. Its slices do not matter, which come later than the pod. */
export function podTargets(placed: PlacedPod, services: readonly KnownService[]): readonly ServiceTarget[] {
  return services.flatMap(({ reduced, service }) =>
    targetsOf(reduced, service, (port) => containerPort(placed.pod.ports, port)).map(({ port, targetPort }) => ({
      service,
      port,
      targetPort,
      endpoint: Object.freeze({ ...placed.endpoint, servicePortName: port.name, port: targetPort }),
    })),
  );
}

/** What a proxy serves whose pod is not known yet, by what it says of itself: agents send the pod's labels and ports. */
export function metadataTargets(
  { addresses, namespace, labels = {}, metadata = {} }: ProxyAddresses,
  services: readonly KnownService[],
  origin: PodOrigin,
): readonly ServiceTarget[] {
  const ports = podPorts(metadata.POD_PORTS);
  const named = services.filter(({ reduced }) =>
    reduced.ports.every((port) => containerPort(ports, port) !== undefined),
  );
  const pod = {
    name: textOf(metadata.NAME),
    namespace,
    addresses,
    labels,
    serviceAccount: textOf(metadata.SERVICE_ACCOUNT) || "default",
    nodeName: textOf(metadata.NODE_NAME),
    workloadName: textOf(metadata.WORKLOAD_NAME),
    hostName: "",
    subDomain: "",
    ports,
    isUp: true,
  };
  return podTargets(placePod(pod, undefined, origin), named);
}

/** Agents send JSON as text. */
function podPorts(value: unknown): readonly NamedPort[] {
  let list = value;
  try {
    if (typeof value === "string") list = JSON.parse(value);
  } catch {
    return [];
  }
  return listOf(list).map(({ name, containerPort: number, protocol }) => ({
    name: textOf(name),
    number: numberOf(number),
    transport: textOf(protocol) || "TCP",
  }));
}

export function workloadTargets(
  workload: Workload,
  services: readonly KnownService[],
  origin: PodOrigin,
): readonly ServiceTarget[] {
  return services
    .filter(({ service }) => service.resolution === "ClientSideLB")
    .flatMap(({ reduced, service }) =>
      targetsOf(reduced, service, (port) => workloadPort(workload, port)).map(({ port, targetPort }) => {
        const described = { name: port.name, number: targetPort, protocol: "", targetPort };
        const endpoint = Object.freeze({ ...toEndpoint(workload, described, origin), port: targetPort });
        return { service, port, targetPort, endpoint };
      }),
    );
}

type Target = Pick<ServiceTarget, "port" | "targetPort">;

/** One target per port of the workload and protocol: several ports of a service may lead to one. */
function targetsOf(
  { ports }: ReducedService,
  service: Service,
  numberAt: (port: ReducedServicePort) => number | undefined,
): readonly Target[] {
  const targets = new Map<string, Target>();
  for (const reduced of ports) {
    const port = service.ports.find(({ name }) => name === reduced.name);
    const targetPort = numberAt(reduced);
    if (port === undefined || targetPort === undefined) continue;
    const key = `${targetPort} ${port.protocol}`;
    if (!targets.has(key)) targets.set(key, { port, targetPort });
  }
  return [...targets.values()];
}

/** Undefined where the service names a port that no container has. */
function containerPort(ports: readonly NamedPort[], { target, transport }: ReducedServicePort): number | undefined {
  if (typeof target === "number") return target;
  return ports.find((port) => port.name === target && port.transport === transport)?.number;
}
