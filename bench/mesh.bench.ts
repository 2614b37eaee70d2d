import { readFileSync } from "node:fs";
import { markedProcesses } from "../src/mesh/process/mesh-processes.ts";
import { startMeshRun } from "../test/support/mesh/run.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { meshPartOf } from "./process-figures.ts";

const SIZES = [2, 5, 10] as const;
/** Long enough for what only the start needed to be given back. */
const SETTLE_MS = 10_000;

interface Measured {
  readonly workloads: number;
  readonly readySeconds: number;
  readonly megabytes: number;
  readonly byKind: Readonly<Record<string, number>>;
  readonly downSeconds: number;
}

/** A whole mesh of two, five and ten workloads: start-up until all are ready, memory of all processes, and whether both grow in proportion. */
const mesh: Bench = {
  name: "mesh",
  async run({ note }) {
    const isolation = process.getuid?.() === 0 ? "namespaces" : "none";
    const measured: Measured[] = [];
    for (const workloads of SIZES) {
      measured.push(await measure(workloads, isolation));
      note(JSON.stringify(measured.at(-1)));
    }
    return rowsOf(measured, isolation);
  },
};

export default mesh;

async function measure(workloads: number, isolation: string): Promise<Measured> {
  const file = `services:
  web:
    port: 8490
    replicas: ${workloads}
    calls: []
    command: exec node -e 'require("net").createServer().listen(process.env.PORT, process.env.HOST)'
`;
  await using run = startMeshRun({ file, args: ["--isolation", isolation] });
  await run.untilUp();
  const readySeconds = Number(/ready after ([\d.]+) s/.exec(run.output())?.[1]);
  await new Promise((done) => setTimeout(done, SETTLE_MS));
  const byKind: Record<string, number> = {};
  for (const { pid } of markedProcesses(run.state().runId)) {
    const kind = meshPartOf(pid);
    byKind[kind] = (byKind[kind] ?? 0) + proportionalMegabytes(pid);
  }
  byKind["mesh up"] = proportionalMegabytes(run.state().parent.pid);
  const startedAt = performance.now();
  run.child.kill("SIGINT");
  await run.exited;
  const megabytes = Object.values(byKind).reduce((sum, value) => sum + value, 0);
  return { workloads, readySeconds, megabytes, byKind, downSeconds: (performance.now() - startedAt) / 1000 };
}

/** Shared pages count in parts, so that the sum over processes is what the machine really gave. */
function proportionalMegabytes(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) / 1024;
}

function rowsOf(measured: readonly Measured[], isolation: string): readonly BenchRow[] {
  const [small, middle, large] = measured;
  if (small === undefined || middle === undefined || large === undefined) throw new Error("not measured");
  const slope = (from: Measured, to: Measured, of: (each: Measured) => number) =>
    (of(to) - of(from)) / (to.workloads - from.workloads);
  const memory = ({ megabytes }: Measured) => megabytes;
  const time = ({ readySeconds }: Measured) => readySeconds;
  const kinds = Object.entries(large.byKind).map(([kind, value]): BenchRow => {
    const count = ["agent", "envoy", "application"].includes(kind) ? large.workloads : 1;
    return { name: `memory of one ${kind} (${large.workloads} workloads)`, value: value / count, unit: "MB" };
  });
  return [
    ...measured.map(
      ({ workloads, readySeconds }): BenchRow => ({
        name: `${workloads} workloads until ready (${isolation})`,
        value: readySeconds,
        unit: "s",
      }),
    ),
    ...measured.map(
      ({ workloads, megabytes }): BenchRow => ({
        name: `${workloads} workloads, memory of all processes`,
        value: megabytes,
        unit: "MB",
      }),
    ),
    ...kinds,
    {
      name: "memory per further workload, 5 to 10",
      value: slope(middle, large, memory),
      unit: "MB",
      ratio: { to: "2 to 5", value: slope(middle, large, memory) / slope(small, middle, memory) },
      goal: "linear: about 1 x",
    },
    {
      name: "start-up per further workload, 5 to 10",
      value: slope(middle, large, time),
      unit: "s",
      ratio: { to: "2 to 5", value: slope(middle, large, time) / slope(small, middle, time) },
      goal: "linear: about 1 x",
    },
    { name: "10 workloads until down", value: large.downSeconds, unit: "s" },
  ];
}
