/** How the applications of a service talk. */
export type ServiceProtocol = "http" | "http2" | "grpc" | "tcp";

/** What workloads reach outside the mesh. */
export type Egress = "none" | "allowed" | "registry-only";

/** Words that are executed as they are, or one line for the shell. */
export type CommandLine = readonly string[] | string;

/** A mesh file with every default filled in. */
export interface MeshFile {
  readonly name: string;
  readonly namespace: string;
  /** Whether workloads refuse calls that do not come from the mesh. */
  readonly mtls: "strict" | "permissive";
  readonly egress: Egress;
  readonly services: readonly ServiceSpec[];
  /** Istio objects that stand in the file itself. */
  readonly config: readonly InlineObject[];
  /** Watched while the mesh runs; relative to the file's directory. */
  readonly configDir: string | undefined;
  /** What of an imported file is not taken over, each with its position. */
  readonly notices: readonly FileNotice[];
}

export interface FileNotice extends Position {
  readonly text: string;
}

export interface InlineObject {
  readonly value: unknown;
  /** In the mesh file, from 1. */
  readonly line: number;
}

/** What runs beside an application, or in its place. */
export type ServiceKind = "sidecar" | "proxyless" | "gateway";

export interface PortSpec {
  readonly name: string;
  readonly port: number;
  readonly protocol: ServiceProtocol;
}

export interface ServiceSpec {
  readonly name: string;
  readonly kind: ServiceKind;
  /** The first is the one that `PORT` means; empty for a service that only calls others. */
  readonly ports: readonly PortSpec[];
  /** Reached from outside the mesh: accepts plain text also where the mesh is strict. */
  readonly entry: boolean;
  /** Where it already runs, without a sidecar; beside the workloads of its own if it has any. */
  readonly endpoints: readonly EndpointSpec[];
  /** Services that its workloads call; all of them when undefined. */
  readonly calls: readonly string[] | undefined;
  readonly dependsOn: readonly Dependency[];
  /** Empty for a service that runs elsewhere. */
  readonly versions: readonly VersionSpec[];
}

export interface EndpointSpec {
  readonly host: string;
  /** The service's own ports when undefined. */
  readonly port: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

/** What has to be true of another service before an application starts. */
export interface Dependency {
  readonly service: string;
  readonly condition: "started" | "healthy";
}

export interface HealthCheck {
  readonly probe: HealthProbe;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Failures in a row after which an application that has been healthy is not any more. */
  readonly retries: number;
  /** Failures in this time after a start do not count. */
  readonly startPeriodMs: number;
}

export type HealthProbe =
  | { readonly kind: "http"; readonly path: string; readonly port: number }
  | { readonly kind: "tcp"; readonly port: number }
  | { readonly kind: "command"; readonly command: CommandLine };

export interface VersionSpec {
  /** Undefined when the service has only one kind of workload. */
  readonly version: string | undefined;
  /** Empty for a gateway. */
  readonly command: CommandLine;
  /** Of the command in the file, for messages. */
  readonly position: Position;
  readonly directory: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  readonly replicas: number;
  readonly healthCheck: HealthCheck | undefined;
}

/** Both from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
  /** Of a file that the mesh file imports; the mesh file itself when undefined. */
  readonly file?: string | undefined;
}
