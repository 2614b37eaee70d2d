import { rmSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../base/coded-error.ts";
import { identifyProcess, type ProcessIdentity } from "../process/process-identity.ts";
import { closeEgress } from "./isolation/egress.ts";
import { namespaceProcesses, removeNamespaces } from "./isolation/namespaces.ts";
import { ownerOf } from "./isolation/network-owner.ts";
import { endProcesses, markedProcesses } from "./process/mesh-processes.ts";
import type { MeshState } from "./state/mesh-state.ts";
import type { StateFolder } from "./state/state-folder.ts";

export interface TornDown {
  readonly processes: number;
  readonly namespaces: number;
  /** Empty when nothing of the run is left. */
  readonly problems: readonly string[];
}

/** How long agents may drain when their parent is no longer there to end them one by one. */
const GRACE_MS = 4000;

/**
 * Ends and removes everything that a run has made, by what it wrote down. Also the last step of an orderly stop: one way out for both.
 * Needs no room on the disk. Logs and the CA's root stay; the state file goes last, and only when nothing is left.
 */
export async function tearDown(folder: StateFolder, state: MeshState): Promise<TornDown> {
  const torn = await endRun(ownPart(state));
  for (const path of [join(folder.path, "workloads"), join(folder.path, "program"), folder.config, folder.resolvers]) {
    rmSync(path, { recursive: true, force: true });
  }
  if (torn.problems.length === 0) rmSync(folder.stateFile, { force: true });
  return torn;
}

/** What a run has on the machine outside its state folder. */
export type RunTraces = Pick<
  MeshState,
  "runId" | "controlSocket" | "namespaces" | "interfaces" | "resolverFolders" | "egress" | "processes"
>;

export async function endRun(traces: RunTraces): Promise<TornDown> {
  const problems: string[] = [];
  const inside = await namespaceProcesses(traces.namespaces);
  const extra = inside.flatMap((pid) => (pid === process.pid ? [] : (identifyProcess(pid) ?? [])));
  const written = Object.values(traces.processes);
  const find = (): readonly ProcessIdentity[] => unique([...written, ...extra, ...markedProcesses(traces.runId)]);
  let processes = 0;
  try {
    processes = await endProcesses(find, GRACE_MS);
  } catch (thrown) {
    problems.push(errorMessage(thrown));
  }
  if (traces.egress !== undefined) problems.push(...(await closeEgress(traces.egress)));
  problems.push(...(await removeNamespaces(traces)));
  rmSync(traces.controlSocket, { force: true });
  return { processes, namespaces: traces.namespaces.length, problems };
}

/** A network whose interface carries the mark of another run is that run's: somebody has cleaned up, and it was given again. */
function ownPart({ egress, ...state }: MeshState): RunTraces {
  const isForeign = state.interfaces.some((name) => (ownerOf(name)?.runId ?? state.runId) !== state.runId);
  if (isForeign) return { ...state, namespaces: [], interfaces: [], resolverFolders: [] };
  return egress === undefined ? state : { ...state, egress };
}

function unique(identities: readonly ProcessIdentity[]): readonly ProcessIdentity[] {
  const byPid = new Map(identities.map((identity) => [`${identity.pid} ${identity.start}`, identity]));
  return [...byPid.values()].filter(({ pid }) => pid !== process.pid);
}
