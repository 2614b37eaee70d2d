import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { errorMessage } from "../../base/coded-error.ts";
import { isMissingFile } from "../../files/read-file.ts";
import { readTextLimitedSync } from "../../files/read-file-sync.ts";
import { replaceFileSync } from "../../files/replace-file.ts";
import type { ProcessIdentity } from "../../process/process-identity.ts";
import type { MeshPlan } from "../core/mesh-plan.ts";
import { MeshError } from "../mesh-error.ts";

/** Carried by every process of a run, so that those are found too that were not written down in time. */
export const RUN_VARIABLE = "PILOT_AGENT_MESH_RUN";

/** What one run of a mesh has made, or is about to make: names are written down before the thing exists. */
export interface MeshState {
  readonly format: 1;
  readonly runId: string;
  readonly name: string;
  readonly startedAt: string;
  /** `mesh up` itself. */
  readonly parent: ProcessIdentity;
  readonly controlSocket: string;
  /** The link has its token. */
  readonly console?: { readonly url: string; readonly link: string };
  /** For commands that run beside the mesh. */
  readonly program: { readonly launcher: string; readonly node: string };
  readonly plan?: MeshPlan;
  /** The file that says so, for commands that look at its rules. */
  readonly source?: MeshSource;
  readonly namespaces: readonly string[];
  readonly interfaces: readonly string[];
  /** What leads out of the namespaces, when something does. */
  readonly egress?: EgressState;
  /** Below /etc/netns. */
  readonly resolverFolders: readonly string[];
  readonly processes: Readonly<Record<string, ProcessIdentity>>;
}

/** Of the machine's packet filter. */
export interface EgressState {
  readonly hostInterface: string;
  /** 198.18.S.0/24 */
  readonly subnet: string;
}

export interface MeshSource {
  /** Absolute; undefined for a mesh that comes from no file. */
  readonly path: string | undefined;
  readonly fileName: string;
  readonly directory: string;
}

/** Not in the state folder, whose path may be longer than the 107 bytes that a socket's may have. */
export function controlSocketOf(runId: string): string {
  return join(tmpdir(), `pilot-agent-mesh-${runId}.sock`);
}

export function readState(path: string): MeshState | undefined {
  let text: string;
  try {
    text = readTextLimitedSync(path);
  } catch (thrown) {
    if (isMissingFile(thrown)) return undefined;
    throw new MeshError("state", `cannot read ${path}: ${errorMessage(thrown)}`, { cause: thrown });
  }
  try {
    const state = JSON.parse(text) as MeshState;
    if (isWhole(state)) return state;
  } catch {
    // Reported below: the file is ours alone, and always written whole.
  }
  throw new MeshError("state", `${path} is not the state of a mesh; remove it if nothing of that mesh runs any more`);
}

/** Everything that commands rely on: they end processes and remove what the state names. */
function isWhole({ format, runId, name, parent, controlSocket, program, processes, ...lists }: MeshState): boolean {
  return (
    format === 1 &&
    [runId, name, controlSocket, program.launcher, program.node].every((text) => typeof text === "string") &&
    [parent, ...Object.values(processes)].every((each) => each.pid > 0 && typeof each.start === "string") &&
    [lists.namespaces, lists.interfaces, lists.resolverFolders].every(Array.isArray)
  );
}

/** The state file of the run that owns it. */
export interface StateRecord {
  readonly current: MeshState;
  /** That of the mesh. */
  readonly folder: string;
  /** On disk when it returns; throws where the disk cannot take it. */
  update(change: Partial<MeshState>): void;
}

export function createStateRecord(path: string, initial: MeshState): StateRecord {
  let current = initial;
  const write = (state: MeshState) => {
    try {
      replaceFileSync(path, `${JSON.stringify(state, null, 1)}\n`, { mode: 0o600 });
    } catch (thrown) {
      throw new MeshError("state", `cannot write ${path}: ${errorMessage(thrown)}`, { cause: thrown });
    }
    current = state;
  };
  write(initial);
  return {
    get current() {
      return current;
    },
    folder: dirname(path),
    update: (change) => write({ ...current, ...change }),
  };
}
