import { execFileSync } from "node:child_process";
import { type AgentProcess, fetchText, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { envoyPath } from "../test/support/needs.ts";
import { type MeshControlPlane, startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import type { Bench } from "./bench.ts";

const RUNS = 9;
const POLL_MS = 3;
const LIMIT_MS = 20_000;

/** From the start of `proxy` until Envoy's readiness port answers 200, with xDS and CA on loopback; programs take turns. */
const ready: Bench = {
  name: "ready",
  async run({ program, peer, note }) {
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    const programs = [
      { name: "exec to 200 on the readiness port", path: program },
      ...(peer === undefined ? [] : [{ name: "the same (peer)", path: peer }]),
    ];
    const times = new Map(programs.map(({ name }) => [name, { agent: [] as number[], ready: [] as number[] }]));
    const bare: number[] = [];
    for (let run = 0; run <= RUNS; run += 1) {
      // How busy the machine is: the runtime alone, in the same minute.
      const before = performance.now();
      execFileSync(process.execPath, ["-e", ""], { env: { PATH: process.env.PATH } });
      bare.push(performance.now() - before);
      for (const { name, path } of programs) {
        const { agentMs, readyMs } = await startOnce(path, controlPlane);
        if (run === 0) continue; // the first one warms the file caches
        times.get(name)?.agent.push(agentMs);
        times.get(name)?.ready.push(readyMs);
      }
    }
    note(`${RUNS} runs each, medians`);
    const own = median(times.get(programs[0]?.name ?? "")?.ready ?? []);
    const runtime = { to: "node -e ''", value: own / median(bare) };
    return programs.flatMap(({ name }, index) => {
      const measured = times.get(name);
      const value = median(measured?.ready ?? []);
      const compared =
        index === 0
          ? { ratio: runtime, goal: "not slower than the peer (201 ms where the goal was set)" }
          : { ratio: { to: "ours", value: value / own } };
      return [
        { name, value, unit: "ms", ...compared },
        { name: `${name}: agent's own status port`, value: median(measured?.agent ?? []), unit: "ms" },
      ];
    });
  },
};

export default ready;

async function startOnce(path: string, controlPlane: MeshControlPlane): Promise<{ agentMs: number; readyMs: number }> {
  // The shell takes the launcher's place in the command line, the same for every program.
  const wrapper = ["sh", "-c", `shift; exec "${path}" "$@"`, "sh"];
  // By the ProxyConfig, which every program reads.
  await using agent = await startAgentProcess({ controlPlane, wrapper, proxyConfig: { binaryPath: envoyPath() } });
  const start = performance.now();
  const since = async (port: number, wanted: (status: number) => boolean) => {
    for (;;) {
      const answer = await fetchText(port, "/healthz/ready").catch(() => undefined);
      const ms = performance.now() - start;
      if (answer !== undefined && wanted(answer.status)) return ms;
      if (ms > LIMIT_MS) throw new Error(`${path} is not ready after ${LIMIT_MS} ms: ${agent.stdout().slice(-2000)}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  const agentMs = await since(agent.ports.status, () => true);
  const readyMs = await since(agent.ports.envoyStatus, (status) => status === 200);
  await endWhole(agent);
  return { agentMs, readyMs };
}

/** A peer that is killed may leave its Envoy behind, which would slow the next runs down. */
async function endWhole(agent: AgentProcess): Promise<void> {
  const envoys = await agent.envoyPids();
  agent.kill("SIGKILL");
  await agent.exited;
  for (const pid of envoys) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended with its agent.
    }
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
