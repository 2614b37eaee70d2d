import type { CommandLine, Position, ServiceProtocol } from "./mesh-file.ts";

/** How the workloads of one machine are isolated. */
export type Isolation = "namespaces" | "none";

/** Everything that `mesh up` will make, decided before anything is made. Only data: it is part of the state file. */
export interface MeshPlan {
  readonly name: string;
  readonly namespace: string;
  readonly isolation: Isolation;
  /** No Envoy: applications speak xDS and mutual TLS themselves, with an agent beside them. */
  readonly proxyless: boolean;
  readonly workloads: readonly Workload[];
  readonly services: readonly PlannedService[];
  readonly controlPlane: ControlPlanePlan;
  /** Absent without namespaces. */
  readonly network?: NetworkPlan;
}

export interface PlannedService {
  readonly name: string;
  /** Its own as long as the mesh runs; addresses follow from it. */
  readonly number: number;
  /** NAME.NAMESPACE.svc.cluster.local */
  readonly hostname: string;
  readonly port: number;
  readonly protocol: ServiceProtocol;
  readonly entry: boolean;
  /** What names resolve to inside namespaces. */
  readonly virtualAddress: string | undefined;
  /** Where sidecars reach a service that already runs. */
  readonly endpoint: Endpoint | undefined;
  /** Where it really is, when sidecars reach it through a relay of `mesh up`: namespaces have no way out of the machine. */
  readonly relayTo: Endpoint | undefined;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface Workload {
  readonly name: string;
  /** Its own as long as the mesh runs; addresses follow from it. */
  readonly number: number;
  readonly service: string;
  readonly version: string | undefined;
  /** The sidecar's address, which is the endpoint's. */
  readonly address: string;
  /** Where the application listens; undefined when it only calls others. */
  readonly app: Endpoint | undefined;
  readonly ports: AgentPorts;
  readonly serviceAccount: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly command: CommandLine;
  readonly position: Position;
  readonly directory: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly calls: readonly Call[];
  /** The file names none: what there is to call changes with the other services. */
  readonly callsAll: boolean;
  /** The network namespace's name. */
  readonly netns: string | undefined;
}

/** Ports of one agent and its Envoy. */
export interface AgentPorts {
  readonly admin: number;
  readonly tap: number;
  readonly status: number;
  readonly envoyStatus: number;
  readonly dns: number;
  readonly envoyPrometheus: number;
}

/** Where a workload reaches a service. */
export interface Call extends Endpoint {
  readonly service: string;
  readonly protocol: ServiceProtocol;
}

export interface ControlPlanePlan {
  /** Where agents reach it. */
  readonly host: string;
  readonly ports: ControlPlanePorts;
  readonly netns: string | undefined;
}

export interface ControlPlanePorts {
  readonly plaintext: number;
  readonly secure: number;
  readonly monitoring: number;
  readonly http: number;
}

export interface NetworkPlan {
  /** The namespace that holds the bridge and the control plane: the machine's own tables stay as they are. */
  readonly hub: string;
  /** The one interface on the machine's side. */
  readonly hostInterface: string;
  readonly hubAddress: string;
  readonly hostAddress: string;
  readonly prefixLength: number;
}
