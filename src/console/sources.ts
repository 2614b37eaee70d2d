import type { ControlPlaneState, LogLines, RestartRecord, Session, WorkloadSummary } from "./api.ts";
import type { ResourceOrigins } from "./core/config-origins.ts";
import type { ServiceInfo } from "./core/graph-nodes.ts";

/**
 * What a console looks at and acts on. `mesh`, `discovery` and `agent` each fill it with what they have; what is absent the page does
 * not offer. Every call has to come back by itself, within seconds: pages wait for it.
 */
export interface ConsoleSources {
  readonly identity: Pick<Session, "version" | "scope" | "name" | "namespace" | "startedAt">;
  entries(): Readonly<Record<string, string>>;
  services(): readonly ServiceInfo[];
  /** Cheap: asked every two seconds while a page is open. Whether they are ready is what `sample` says. */
  workloads(): readonly SourceWorkload[];
  controlPlane(): Promise<ControlPlaneState>;
  /** What is wrong with the configuration now. */
  problems(): readonly string[];
  /** What a workload's clusters, listeners and routes were made from; absent: it is not known here. Rejects with a reason for people. */
  origins?(workload: string): Promise<readonly ResourceOrigins[]>;
  readonly objects?: ObjectSource;
  readonly logs?: LogSource;
  readonly parts?: PartControl;
}

export interface SourceWorkload extends Omit<WorkloadSummary, "ready" | "reasons" | "envoy"> {
  readonly labels: Readonly<Record<string, string>>;
  readonly serviceAccount?: string;
  readonly identity?: string;
  /** Names of services that it is known to call; absent where that is not known. */
  readonly calls?: readonly string[];
  readonly ports: readonly { readonly name: string; readonly port: number }[];
  /** In words; undefined when this machine cannot know. */
  readonly capture?: readonly string[];
  /** Why it cannot be ready, whatever its agent says: its application does not run. */
  readonly obstacle?: string;
  /** Newest first. */
  readonly restarts: readonly RestartRecord[];
  /** Absent: it cannot be asked from here, and the text says why. */
  readonly access?: AgentAccess;
  readonly unreachable?: string;
}

/** The pages of one agent (`agent-pages.ts`), here or over its socket. Rejects with a reason for people. */
export interface AgentAccess {
  get(path: string, limits: AskLimits): Promise<AgentAnswer>;
  post(path: string, limits: AskLimits): Promise<AgentAnswer>;
}

export interface AskLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface AgentAnswer {
  readonly status: number;
  readonly body: string;
}

/** Rule objects in force. */
export interface ObjectSource {
  readonly canWrite: boolean;
  /** Also those that are overridden are not in it. */
  list(): Promise<StoredObjects>;
  /** Puts one object over what there is; resolves when it is stored. */
  put(object: ObjectDocument): Promise<void>;
  /** Takes back what was put: one of a file comes into force again. Rejects when there is nothing to take back. */
  remove(ref: ObjectName): Promise<void>;
  /** What analyze finds in the objects as they would be with those of the text; of an empty text: as they are. */
  analyze(yaml: string): Promise<readonly ObjectFinding[]>;
}

export interface StoredObjects {
  /** Changes when anything does. */
  readonly revision: string;
  readonly objects: readonly StoredObject[];
  readonly problems: readonly { readonly file: string; readonly line: number; readonly message: string }[];
}

export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface ObjectDocument extends ObjectName {
  /** The document, its namespace filled in. */
  readonly document: Readonly<Record<string, unknown>>;
}

export interface StoredObject extends ObjectDocument {
  readonly origin: "generated" | "file" | "applied" | "cluster";
  /** Stands above one of a file, which is `under`. */
  readonly overrides: boolean;
  readonly under?: Readonly<Record<string, unknown>>;
  readonly source?: { readonly file: string; readonly line: number };
  /** As its user wrote it. */
  readonly text?: string;
}

export interface ObjectFinding extends ObjectName {
  readonly severity: "error" | "warning" | "info";
  readonly code: string;
  readonly message: string;
  /** With an empty file: of the text that was asked about. */
  readonly position?: { readonly file: string; readonly line: number };
}

export interface LogSource {
  /** Whole lines, from the last `tail` ones on, until the signal. */
  follow(
    workload: string,
    part: "app" | "agent",
    options: { readonly tail: number; readonly signal: AbortSignal; onLines(lines: LogLines["lines"]): void },
  ): Promise<void>;
}

/** Processes that are supervised from here. */
export interface PartControl {
  killEnvoy(workload: string): Promise<void>;
  stopControlPlane(): Promise<void>;
  startControlPlane(): Promise<void>;
}
