import { execFileSync } from "node:child_process";
import type { Bench } from "./bench.ts";

const RUNS = 15;

/** How long the program takes to say its version, against the bare runtime, alternating so that both see the same machine. */
const startup: Bench = {
  name: "startup",
  async run({ program, peer, note }) {
    const commands: [string, string, string[]][] = [
      ["node -e ''", process.execPath, ["-e", ""]],
      ["version", program, ["version"]],
      ...(peer === undefined ? [] : ([["version (peer)", peer, ["version"]]] as [string, string, string[]][])),
    ];
    const times = new Map<string, number[]>(commands.map(([name]) => [name, []]));
    for (let run = 0; run < RUNS; run += 1) {
      for (const [name, command, args] of commands) {
        const start = performance.now();
        // Roots that the environment adds would be read at the start of every Node.
        execFileSync(command, args, { stdio: "ignore", env: { PATH: process.env.PATH } });
        times.get(name)?.push(performance.now() - start);
      }
    }
    note(`${RUNS} runs each, medians`);
    const medians = commands.map(([name]) => ({ name, value: median(times.get(name) ?? []) }));
    const bare = medians[0]?.value ?? Number.NaN;
    return medians.map(({ name, value }) => ({
      name,
      value,
      unit: "ms",
      ...(name === "version" ? { ratio: { to: "node -e ''", value: value / bare }, goal: "<= 1.6" } : {}),
    }));
  },
};

export default startup;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
