/** How the applications of a service talk. */
export type ServiceProtocol = "http" | "http2" | "grpc" | "tcp";

/** Words that are executed as they are, or one line for the shell. */
export type CommandLine = readonly string[] | string;

/** A mesh file with every default filled in. */
export interface MeshFile {
  readonly name: string;
  readonly namespace: string;
  /** Whether workloads refuse calls that do not come from the mesh. */
  readonly mtls: "strict" | "permissive";
  readonly services: readonly ServiceSpec[];
  /** Istio objects that stand in the file itself. */
  readonly config: readonly InlineObject[];
  /** Watched while the mesh runs; relative to the file's directory. */
  readonly configDir: string | undefined;
}

export interface InlineObject {
  readonly value: unknown;
  /** In the mesh file, from 1. */
  readonly line: number;
}

export interface ServiceSpec {
  readonly name: string;
  /** Undefined for a service that only calls others. */
  readonly port: number | undefined;
  readonly protocol: ServiceProtocol;
  /** Reached from outside the mesh: accepts plain text also where the mesh is strict. */
  readonly entry: boolean;
  /** Something that already runs elsewhere, without a sidecar. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** Services that its workloads call; all of them when undefined. */
  readonly calls: readonly string[] | undefined;
  /** Empty for a service with an address. */
  readonly versions: readonly VersionSpec[];
}

export interface VersionSpec {
  /** Undefined when the service has only one kind of workload. */
  readonly version: string | undefined;
  readonly command: CommandLine;
  /** Of the command in the file, for messages. */
  readonly position: Position;
  readonly directory: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount: string;
  readonly replicas: number;
}

/** Both from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}
