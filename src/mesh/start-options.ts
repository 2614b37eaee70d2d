import type { ConfigValidator } from "./config-files.ts";
import type { MeshFile } from "./core/mesh-file.ts";
import type { Isolation } from "./core/mesh-plan.ts";
import type { RunAs } from "./core/part-commands.ts";
import type { AgentProgram } from "./process/shared-program.ts";

/** For whoever shows what happens: one line each. */
export type Say = (level: "info" | "warn" | "error", text: string) => void;

export interface StartMeshOptions {
  readonly file: MeshFile;
  /** The file's name in messages, and where its relative paths start from. */
  readonly fileName: string;
  readonly directory: string;
  /** Read again when it changes; undefined for a mesh that comes from no file. */
  readonly watchedFile: string | undefined;
  /** Of this mesh alone. */
  readonly stateFolder: string;
  readonly isolation: "auto" | Isolation;
  /** Without Envoy, for applications that speak xDS themselves. */
  readonly proxyless?: boolean;
  readonly isRoot: boolean;
  readonly program: AgentProgram;
  /** Of the user, for the applications. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Who the applications run as, if not as this process. */
  readonly appUser: RunAs | undefined;
  readonly validate: ConfigValidator;
  readonly say: Say;
  readonly signal: AbortSignal;
}
