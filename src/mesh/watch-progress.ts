import { wait } from "../base/wait.ts";
import type { Workload } from "./core/mesh-plan.ts";
import type { MeshParts } from "./mesh-parts.ts";
import type { RunningMesh } from "./running-mesh.ts";
import type { WorkloadProgress } from "./start-options.ts";

export interface ProgressOptions {
  readonly running: Pick<RunningMesh, "plan">;
  readonly parts: Pick<MeshParts, "controlPlaneObstacle" | "workloadObstacle" | "status">;
  onProgress(progress: readonly WorkloadProgress[]): void;
}

const POLL_MS = 250;

/** Reports until all workloads are ready. */
export function watchProgress({ running, parts, onProgress }: ProgressOptions): { stop(): Promise<void> } {
  const ending = new AbortController();
  const known = new Map<string, WorkloadProgress>();
  const look = async () => {
    const isBegun = ({ name }: Workload) => parts.status(`${name}/agent`).phase !== "stopped";
    const control = running.plan.workloads.every(isBegun) ? undefined : await parts.controlPlaneObstacle(running.plan);
    for (const workload of running.plan.workloads) {
      const { name } = workload;
      const before = known.get(name);
      // An application that has ended since is not ready any more.
      const hasEnded = "reason" in parts.status(`${name}/app`);
      if (before !== undefined && before.waitsFor === undefined && !hasEnded) continue;
      const obstacle = isBegun(workload)
        ? (await parts.workloadObstacle(workload))?.slice(name.length + 1)
        : `the control plane is not ready yet${control === undefined ? "" : ` (${control})`}`;
      const waitsFor = obstacle === "app: stopped" ? "agent: its first configuration" : obstacle;
      if (before?.waitsFor !== waitsFor || before === undefined) known.set(name, { name, waitsFor, since: Date.now() });
    }
    onProgress(running.plan.workloads.flatMap(({ name }) => known.get(name) ?? []));
  };
  const run = async () => {
    while (!ending.signal.aborted) {
      await look();
      if ([...known.values()].every(({ waitsFor }) => waitsFor === undefined)) return;
      await wait(POLL_MS, ending.signal);
    }
  };
  const finished = run();
  return {
    async stop() {
      ending.abort();
      await finished;
    },
  };
}
