import { readFileSync } from "node:fs";
import { type AgentProcess, startAgentProcess } from "../test/support/agent-process.ts";
import { startMeshControlPlane } from "../test/support/mesh-control-plane.ts";
import type { Bench } from "./bench.ts";

/** Long enough for the garbage collector to have given back what the start needed. */
const SETTLE_MS = 15_000;

/** What the agent's process costs while nothing happens, next to a bare Node process. */
const idle: Bench = {
  name: "idle",
  async run({ note }) {
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    await using agent = await startAgentProcess({ controlPlane });
    await agent.untilReady();
    note(`ready; waiting ${SETTLE_MS / 1000} s`);
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    const { rss, anonymous } = memory(agent);
    const cpu = cpuSeconds(agent);
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    return [
      { name: "private (anonymous) memory", value: anonymous, unit: "MB", goal: "<= 16 (Go agent: 10.7)" },
      { name: "resident memory", value: rss, unit: "MB", goal: "<= 65 (Go agent: 34.5)" },
      { name: "CPU at idle", value: ((cpuSeconds(agent) - cpu) / (SETTLE_MS / 1000)) * 100, unit: "% of a core" },
    ];
  },
};

export default idle;

function memory({ pid }: AgentProcess): { readonly rss: number; readonly anonymous: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const megabytes = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(text)?.[1]) / 1024;
  return { rss: megabytes("Rss"), anonymous: megabytes("Anonymous") };
}

function cpuSeconds({ pid }: AgentProcess): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
