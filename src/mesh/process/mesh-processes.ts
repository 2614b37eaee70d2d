import { readdirSync, readFileSync, statSync } from "node:fs";
import { wait } from "../../base/wait.ts";
import { identifyProcess, isAlive, type ProcessIdentity } from "../../process/process-identity.ts";
import { RUN_VARIABLE } from "../state/mesh-state.ts";

const POLL_MS = 25;
/** As applications have it. */
const WORKLOAD_VARIABLE = "MESH_WORKLOAD";

/** Every process that carries the mark of the run, whoever started it; of one workload's application when named. Empty without /proc. */
export function markedProcesses(runId: string, workload?: string): readonly ProcessIdentity[] {
  const marks = [`${RUN_VARIABLE}=${runId}`, ...(workload === undefined ? [] : [`${WORKLOAD_VARIABLE}=${workload}`])];
  return processNumbers().flatMap((pid) => {
    if (pid === process.pid) return [];
    const environment = environmentOf(pid).split("\0");
    return marks.every((mark) => environment.includes(mark)) ? (identifyProcess(pid) ?? []) : [];
  });
}

/** SIGTERM, and SIGKILL for what is still there afterwards. `find` is asked again, as processes start others. */
export async function endProcesses(find: () => readonly ProcessIdentity[], graceMs: number): Promise<number> {
  const seen = new Set<number>();
  const killAt = Date.now() + graceMs;
  // No process survives SIGKILL; the limit is for processes that the kernel itself cannot end.
  const giveUpAt = killAt + 10_000;
  for (;;) {
    const left = find().filter(isAlive);
    if (left.length === 0) return seen.size;
    const isLate = Date.now() >= killAt;
    if (Date.now() >= giveUpAt) throw new Error(`processes ${left.map(({ pid }) => pid).join(", ")} do not end`);
    for (const { pid } of left) {
      if (isLate) signal(pid, "SIGKILL");
      else if (!seen.has(pid)) signal(pid, "SIGTERM");
      seen.add(pid);
    }
    await wait(POLL_MS);
  }
}

/** The Envoys among the children of an agent. */
export function envoysOf(agent: number): readonly number[] {
  return processNumbers().filter((pid) => {
    const stat = readText(`/proc/${pid}/stat`);
    const end = stat.lastIndexOf(")");
    return (
      Number(stat.slice(end + 2).split(" ")[1]) === agent && stat.slice(stat.indexOf("(") + 1, end).startsWith("envoy")
    );
  });
}

/**
 * Whether somebody in the network namespace of the process listens on the port. With the name of a namespace: not before the process has
 * entered it; until then it is in the machine's, where an entry of the mesh may listen on the same port.
 */
export function isListening(pid: number, port: number, netns?: string): boolean {
  if (netns !== undefined && !isInside(pid, netns)) return false;
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return ["tcp", "tcp6"].some((family) =>
    readText(`/proc/${pid}/net/${family}`)
      .split("\n")
      .some((line) => new RegExp(`^\\s*\\d+: [0-9A-F]+:${wanted} \\S+ 0A `).test(line)),
  );
}

function isInside(pid: number, netns: string): boolean {
  try {
    return statSync(`/proc/${pid}/ns/net`).ino === statSync(`/run/netns/${netns}`).ino;
  } catch {
    return false;
  }
}

function processNumbers(): readonly number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function environmentOf(pid: number): string {
  return readText(`/proc/${pid}/environ`);
}

/** Processes end while they are looked at, and those of others are not ours to see. */
function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended in between.
  }
}
