import type { MeshFile } from "./core/mesh-file.ts";
import type { MeshPlan } from "./core/mesh-plan.ts";
import type { StartMeshOptions } from "./start-options.ts";

/** What runs now and which file says so. Changed by `mesh apply` alone, one at a time; all others read it each time. */
export interface RunningMesh {
  plan: MeshPlan;
  file: MeshFile;
  /** The file's name in messages, and where its relative paths start from. */
  fileName: string;
  directory: string;
  watchedFile: string | undefined;
  /** What `${NAME}` in the file stands for. */
  variables: StartMeshOptions["env"];
  /** Workloads that others do not call now. */
  readonly aside: Set<string>;
}
