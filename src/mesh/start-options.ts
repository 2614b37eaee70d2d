import type { ConfigValidator } from "./config-files.ts";
import type { MeshFile } from "./core/mesh-file.ts";
import type { Isolation } from "./core/mesh-plan.ts";
import type { RunAs } from "./core/part-commands.ts";
import type { Machine } from "./isolation/machine.ts";
import type { AgentProgram } from "./process/shared-program.ts";

/** For whoever shows what happens: one line each. */
export type Say = (level: "info" | "warn" | "error", text: string) => void;

/** How far one workload is with its start. */
export interface WorkloadProgress {
  readonly name: string;
  /** `app: nothing listens on port 8080 yet`; undefined when it is ready. */
  readonly waitsFor: string | undefined;
  /** Since when it waits for this, or is ready. */
  readonly since: number;
}

export interface AppFiles {
  /** A workload, or a service for all of its. */
  readonly name: string;
  /** Absolute; of a folder everything in it counts. */
  readonly paths: readonly string[];
}

export interface StartMeshOptions {
  readonly file: MeshFile;
  /** The file's name in messages, and where its relative paths start from. */
  readonly fileName: string;
  readonly directory: string;
  /** Read again when it changes; undefined for a mesh that comes from no file. */
  readonly watchedFile: string | undefined;
  /** The file is applied when it changes; else only the objects in it are. */
  readonly appliesChanges?: boolean;
  /** Files with whose change applications are restarted. */
  readonly appFiles?: readonly AppFiles[];
  /** Of this mesh alone. */
  readonly stateFolder: string;
  readonly isolation: "auto" | Isolation;
  /** Without Envoy, for applications that speak xDS themselves. */
  readonly proxyless?: boolean;
  readonly isRoot: boolean;
  /** The machine's network, where this process is root of a user namespace and so in another one. */
  readonly machine?: Machine | undefined;
  readonly program: AgentProgram;
  /** Of the user, for the applications. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Who the applications run as, if not as this process. */
  readonly appUser: RunAs | undefined;
  readonly validate: ConfigValidator;
  /** Absent: no console. */
  readonly console?: ConsoleStart;
  readonly say: Say;
  /** Whole lines of the applications as they come; absent: they are not shown. */
  readonly onOutput?: (workload: string, text: string) => void;
  /** Workloads on their way to being ready, until all are. */
  readonly onProgress?: (progress: readonly WorkloadProgress[]) => void;
  readonly signal: AbortSignal;
}

export interface ConsoleStart {
  readonly listen: { readonly host: string; readonly port: number };
  /** The next free port when it is taken. */
  readonly takesNextPort: boolean;
  readonly pageFolder: string;
  /** With the token in it; called before anything else is started. */
  onLink(link: string): void;
}
