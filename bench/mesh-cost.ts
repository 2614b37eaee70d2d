import { markedProcesses } from "../src/mesh/process/mesh-processes.ts";
import type { MeshRun } from "../test/support/mesh/run.ts";
import type { BenchRow } from "./bench.ts";
import { cpuNanoseconds, meshPartOf } from "./process-figures.ts";

/** Pairs of windows, without and with a watcher: what else the machine does falls into both alike, and their median into neither. */
const PAIRS = Number(process.env.MESH_PAIRS ?? 8);
const WINDOW_MS = 12_000;
/** Until the first questions, or the last, are over. */
const SETTLE_MS = 3000;

const PARTS = ["mesh up", "agent", "envoy", "control plane", "watcher"] as const;
type Cost = Readonly<Record<(typeof PARTS)[number], number>>;

/** Somebody who looks at a mesh. */
export interface Watcher {
  /** Of a process of its own. */
  readonly pid?: number;
  stop(): Promise<void>;
}

export interface WatchedOptions {
  readonly mesh: MeshRun;
  /** What the rows begin with. */
  readonly what: string;
  readonly goal: string;
  note(text: string): void;
  watch(): Promise<Watcher>;
}

/** What it costs a mesh to be looked at: processor time of all its processes and of whoever looks, in percent of one core. */
export async function costOfWatching({ mesh, what, goal, note, watch }: WatchedOptions): Promise<readonly BenchRow[]> {
  const { runId, parent } = mesh.state();
  // Looked for at each window: helpers that a start needs are gone by then, and others have come.
  const processes = () => [
    { pid: parent.pid, part: "mesh up" },
    ...markedProcesses(runId).flatMap(({ pid }) => partOf(pid)),
  ];
  const closed: Cost[] = [];
  const open: Cost[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) {
    closed.push(await costOf(processes()));
    const watcher = await watch();
    const own = watcher.pid === undefined ? [] : [{ pid: watcher.pid, part: "watcher" }];
    open.push(await costOf([...processes(), ...own]));
    await watcher.stop();
    note(`pair ${pair + 1}: without ${JSON.stringify(closed.at(-1))}, with ${JSON.stringify(open.at(-1))}`);
  }
  return rowsOf(closed, open, what, goal);
}

async function costOf(processes: readonly { readonly pid: number; readonly part: string }[]): Promise<Cost> {
  await pause(SETTLE_MS);
  const spent = () => processes.map(({ pid }) => spentBy(pid));
  const [before, startedAt] = [spent(), performance.now()];
  await pause(WINDOW_MS);
  const [after, ms] = [spent(), performance.now() - startedAt];
  const differences = processes.map(({ part }, at) => {
    const [from, to] = [before[at], after[at]];
    return { part, spent: from === undefined || to === undefined ? 0 : to - from };
  });
  return Object.fromEntries(
    PARTS.map((part) => {
      const own = differences.filter((each) => each.part === part);
      return [part, (sum(own.map((each) => each.spent)) / 1e6 / ms) * 100];
    }),
  ) as Cost;
}

/** Undefined for a process that has ended. */
function spentBy(pid: number): number | undefined {
  try {
    return cpuNanoseconds(pid);
  } catch {
    return undefined;
  }
}

function partOf(pid: number): readonly { readonly pid: number; readonly part: string }[] {
  try {
    return [{ pid, part: meshPartOf(pid) }];
  } catch {
    return [];
  }
}

function rowsOf(closed: readonly Cost[], open: readonly Cost[], what: string, goal: string): readonly BenchRow[] {
  const differences = (of: (cost: Cost) => number) =>
    open.map((cost, at) => of(cost) - of(closed[at] ?? cost)).sort((a, b) => a - b);
  const total = (cost: Cost) => sum(PARTS.map((part) => cost[part]));
  const all = differences(total);
  const quarter = Math.floor(all.length / 4);
  return [
    {
      name: `${what}: all processes together`,
      value: median(all),
      unit: "% of a core",
      ratio: { to: "without", value: median(open.map(total)) / median(closed.map(total)) },
      goal,
    },
    { name: "the same, lower quartile of the pairs", value: all[quarter] ?? Number.NaN, unit: "% of a core" },
    {
      name: "the same, upper quartile of the pairs",
      value: all[all.length - 1 - quarter] ?? Number.NaN,
      unit: "% of a core",
    },
    ...PARTS.map(
      (part): BenchRow => ({
        name: `of it ${part}`,
        value: median(differences((cost) => cost[part])),
        unit: "% of a core",
      }),
    ),
    { name: "without: all processes together", value: median(closed.map(total)), unit: "% of a core" },
  ];
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
