import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAgentProcess } from "../test/support/agent/agent-process.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import type { Bench } from "./bench.ts";

const RUNS = 9;

/** Stands where Envoy would be and writes down when it was executed, and what the agent's main thread had used until then (ns both). */
const STAND_IN = `#!/bin/sh
[ "$1" = --help ] && exit 0
read cpu rest < /proc/$PPID/schedstat
echo "$(date +%s%N) $cpu" > executed.tmp && mv executed.tmp executed
exec sleep 60
`;

/** From the start of `proxy` until the kernel executes Envoy: what the agent itself adds to a pod's start. */
const exec: Bench = {
  name: "exec",
  async run({ note }) {
    const folder = mkdtempSync(join(tmpdir(), "exec-bench-"));
    try {
      const binaryPath = join(folder, "envoy");
      writeFileSync(binaryPath, STAND_IN);
      chmodSync(binaryPath, 0o755);
      await using controlPlane = await startMeshControlPlane({ resources: () => [] });
      const [times, processor, bare]: [number[], number[], number[]] = [[], [], []];
      // As bare as the agent's: roots that the environment adds would be read at the start of every Node.
      const env = { PATH: process.env.PATH };
      for (let run = 0; run <= RUNS; run += 1) {
        const before = performance.now();
        execFileSync(process.execPath, ["-e", ""], { env });
        bare.push(performance.now() - before);
        await using agent = await startAgentProcess({ controlPlane, proxyConfig: { binaryPath } });
        const started = Date.now(); // its files and ports were made before it was started
        const mark = join(agent.folder, "executed");
        await until(async () => (existsSync(mark) ? undefined : "not executed yet"));
        if (run === 0) continue; // the first one warms the file caches
        const [at = Number.NaN, cpu = Number.NaN] = readFileSync(mark, "utf8").split(" ").map(Number);
        times.push(at / 1e6 - started);
        processor.push(cpu / 1e6);
      }
      note(`${RUNS} runs, medians`);
      const value = median(times);
      return [
        { name: "exec to Envoy's execve", value, unit: "ms", ratio: { to: "node -e ''", value: value / median(bare) } },
        { name: "processor time of the main thread until then", value: median(processor), unit: "ms" },
      ];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

export default exec;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
