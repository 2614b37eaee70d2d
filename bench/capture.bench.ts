import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { createNetns, type Netns } from "../test/support/netns/netns.ts";
import type { Bench, BenchRow } from "./bench.ts";

interface Figures {
  readonly bareMs: readonly number[];
  readonly applyMs: readonly number[];
  readonly againMs: readonly number[];
  readonly walksPerSecond: number;
}

const RUNS = 15;
const ARGS = [
  "istio-iptables",
  "-u",
  "1337",
  "-i",
  "*",
  "-b",
  "*",
  "-d",
  "15090,15021,15020",
  "--force-iptables-binary",
  "nft",
];

/** Applying the injected default rules: the work itself against the one program it cannot do without, and the command as a whole. */
const capture: Bench = {
  name: "capture",
  async run({ program, peer, note }) {
    await using netns = await createNetns();
    const figures = await inNamespace(netns);
    // The quarter of the rounds that was disturbed least: a few milliseconds are soon doubled by whatever else the machine does.
    const bare = quartile(figures.bareMs);
    const apply = quartile(figures.applyMs);
    note(
      `${figures.bareMs.length} rounds of bare restore and apply, lower quartiles; ${RUNS} of the whole command, medians`,
    );
    const rows: BenchRow[] = [
      { name: "bare iptables-restore", value: bare, unit: "ms" },
      {
        name: "apply",
        value: apply,
        unit: "ms",
        ratio: { to: "bare iptables-restore", value: apply / bare },
        goal: "<= 1.2",
      },
      { name: "apply, nothing to do", value: quartile(figures.againMs), unit: "ms" },
      { name: "packet walks", value: figures.walksPerSecond, unit: "1/s" },
    ];
    const [command = Number.NaN, other] = await commandMs(netns, peer === undefined ? [program] : [program, peer]);
    if (other === undefined) return [...rows, { name: "whole command", value: command, unit: "ms" }];
    return [
      ...rows,
      { name: "whole command (peer)", value: other, unit: "ms" },
      {
        name: "whole command",
        value: command,
        unit: "ms",
        ratio: { to: "peer", value: command / other },
        goal: "<= 1.5",
      },
    ];
  },
};

export default capture;

/** The measured code runs inside the namespace, so that it starts its programs as directly as the command does. */
async function inNamespace(netns: Netns): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "pilot-agent-bench-"));
  try {
    const outfile = join(folder, "child.mjs");
    await build({
      absWorkingDir: resolve(import.meta.dirname, ".."),
      entryPoints: ["bench/capture/child.ts"],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20.19",
      logLevel: "warning",
    });
    return JSON.parse(await netns.must(`${process.execPath} ${outfile}`)) as Figures;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One after the other in each round, so that all meet the same machine. */
async function commandMs(netns: Netns, programs: readonly string[]): Promise<readonly number[]> {
  const times = programs.map(() => [] as number[]);
  for (let run = 0; run < RUNS; run += 1) {
    for (const [index, program] of programs.entries()) {
      for (const action of ["-F", "-X"]) await netns.must(`iptables-nft -t nat ${action}`);
      const start = performance.now();
      execFileSync("ip", ["netns", "exec", netns.name, program, ...ARGS], {
        stdio: "ignore",
        // Roots that the environment adds would be read at the start of every Node.
        env: { PATH: process.env.PATH },
      });
      times[index]?.push(performance.now() - start);
    }
  }
  return times.map(median);
}

function median(values: readonly number[]): number {
  return ranked(values, 1 / 2);
}

function quartile(values: readonly number[]): number {
  return ranked(values, 1 / 4);
}

function ranked(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}
