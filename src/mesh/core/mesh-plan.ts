import type {
  CommandLine,
  Dependency,
  Egress,
  HealthCheck,
  PortSpec,
  Position,
  ServiceKind,
  ServiceProtocol,
} from "./mesh-file.ts";

/** How the workloads of one machine are isolated. */
export type Isolation = "namespaces" | "none";

/** Everything that `mesh up` will make, decided before anything is made. Only data: it is part of the state file. */
export interface MeshPlan {
  readonly name: string;
  readonly namespace: string;
  readonly isolation: Isolation;
  /** No Envoy: applications speak xDS and mutual TLS themselves, with an agent beside them. */
  readonly proxyless: boolean;
  readonly egress: Egress;
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
  /** A gateway is reached from outside, and is no service that others call. */
  readonly isGateway: boolean;
  /** At least one; the first is what callers mean who name none. */
  readonly ports: readonly PortSpec[];
  readonly entry: boolean;
  /** What names resolve to inside namespaces. */
  readonly virtualAddress: string | undefined;
  /** Where sidecars reach what already runs elsewhere. */
  readonly endpoints: readonly OutsideEndpoint[];
}

export interface OutsideEndpoint {
  readonly host: string;
  /** By name of the service's port. */
  readonly ports: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  /** Where it really is, when sidecars reach it through relays of `mesh up`: namespaces may have no way out of the machine. */
  readonly relays: readonly { readonly listen: Endpoint; readonly to: Endpoint }[];
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
  readonly kind: ServiceKind;
  /** The sidecar's address, which is the endpoint's. */
  readonly address: string;
  /** Where the application listens; undefined when it only calls others. */
  readonly app: Endpoint | undefined;
  /** Where it listens for each port of its service; the first is `app`. */
  readonly listens: readonly AppPort[];
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
  readonly dependsOn: readonly Dependency[];
  /** With the ports that the application listens on. */
  readonly healthCheck: HealthCheck | undefined;
  /** The network namespace's name. */
  readonly netns: string | undefined;
}

export interface AppPort extends PortSpec {
  /** The application's own; the same one where it has the network to itself. */
  readonly appPort: number;
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
  /** All of them; the first is the one above. */
  readonly ports: readonly PortSpec[];
}

/** Whether its application speaks xDS and mutual TLS itself. */
export function isProxyless(plan: Pick<MeshPlan, "proxyless">, { kind }: Pick<Workload, "kind">): boolean {
  return plan.proxyless || kind === "proxyless";
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
  /** One folder for each namespace, with the files that it has in place of those in /etc. */
  readonly resolvers: string;
  /** All of it is inside a user namespace: there is one user, and no way out. */
  readonly rootless: boolean;
  /** Where applications ask for names; only without root another one than the agents'. */
  readonly appResolver: string;
}
