import { connect } from "node:net";
import { CloseStack } from "../src/base/close-stack.ts";
import type { Bench, BenchContext, BenchRow } from "./bench.ts";
import { type BenchChild, startChild } from "./child.ts";
import { startStatusAgent } from "./metrics-merge/status-agent.ts";
import { cpuNanoseconds } from "./process-figures.ts";

const MEGABYTE = 1e6;
const WARM_UPS = 3;
const ROUNDS = 9;
const AGENT_ROUNDS = 31;

const SIZES = [
  { name: "5 MB Envoy + 20 MB application", envoy: 5, application: 20 },
  { name: "100 MB Envoy + 20 MB application", envoy: 100, application: 20 },
];

/** Merging against piping the same bytes through the same HTTP library, each in a process of its own. */
const bench: Bench = {
  name: "metrics-merge",
  async run(context) {
    await using sources = await startChild("metrics-merge/sources.ts");
    const { port } = await sources.next<{ port: number }>();
    const rows: BenchRow[] = [];
    for (const size of SIZES) {
      context.note(size.name);
      const bytes = [size.envoy * MEGABYTE, size.application * MEGABYTE].map(String);
      await using pipe = await startChild("metrics-merge/merger.ts", ["pipe", String(port), ...bytes]);
      await using merge = await startChild("metrics-merge/merger.ts", ["merge", String(port), ...bytes]);
      const query = `/metrics?bytes=${size.envoy * MEGABYTE}`;
      const [piped, merged] = await measureBoth([pipe, merge], query);
      rows.push(
        {
          name: `${size.name}: merged`,
          value: merged.bytes / MEGABYTE / merged.seconds,
          unit: "MB/s",
          ratio: { to: "piping", value: piped.seconds / merged.seconds },
          goal: "20 MB in 45 ms: 440 MB/s",
        },
        { name: `${size.name}: piped`, value: piped.bytes / MEGABYTE / piped.seconds, unit: "MB/s" },
        {
          name: `${size.name}: merged, of processor time`,
          value: merged.bytes / MEGABYTE / merged.cpuSeconds,
          unit: "MB/s",
          ratio: { to: "piping", value: piped.cpuSeconds / merged.cpuSeconds },
        },
        { name: `${size.name}: extra memory at peak`, value: merged.extraMb, unit: "MB", goal: "under 16 MB" },
        { name: `${size.name}: extra memory of piping`, value: piped.extraMb, unit: "MB" },
      );
    }
    rows.push(...(await measureAgents(context, port)));
    return rows;
  },
};
export default bench;

/** Whole programs without Envoy and without a control plane: 20 MB of an application through their status ports, by turns. */
async function measureAgents({ program, peer, note }: BenchContext, port: number): Promise<BenchRow[]> {
  note("agents: 20 MB application");
  await using opened = new CloseStack();
  const start = async (name: string, path: string) => {
    const agent = opened.add(await startStatusAgent(path, { port, bytes: 20 * MEGABYTE }));
    const small = opened.add(await startStatusAgent(path, { port, bytes: 100_000 }));
    for (let round = 0; round < 30; round++) await scrape(small.statusPort, "/stats/prometheus");
    return { name, agent, small, times: [] as number[], cpu: [] as number[], bytes: 0 };
  };
  const measured = [await start("built agent", program)];
  if (peer !== undefined) measured.push(await start("peer", peer));
  for (let round = 0; round < WARM_UPS + AGENT_ROUNDS; round++) {
    for (const each of measured) {
      const startedAt = performance.now();
      const usedBefore = cpuNanoseconds(each.agent.pid);
      each.bytes = await scrape(each.agent.statusPort, "/stats/prometheus");
      if (round < WARM_UPS) continue;
      each.times.push((performance.now() - startedAt) / 1000);
      each.cpu.push((cpuNanoseconds(each.agent.pid) - usedBefore) / 1e9);
    }
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
  const seconds = measured.map(({ times }) => median(times));
  const cpuSeconds = measured.map(({ cpu }) => median(cpu));
  const [own = Number.NaN, other] = seconds;
  const [ownCpu = Number.NaN, otherCpu] = cpuSeconds;
  return measured.flatMap(({ name, agent, small, bytes }, index) => [
    {
      name: `${name}, 20 MB application: merged`,
      value: bytes / MEGABYTE / (seconds[index] ?? Number.NaN),
      unit: "MB/s",
      ...(index === 0 && other !== undefined && { ratio: { to: "peer", value: other / own }, goal: "1.0 x peer" }),
    },
    {
      name: `${name}, 20 MB application: merged, of processor time`,
      value: bytes / MEGABYTE / (cpuSeconds[index] ?? Number.NaN),
      unit: "MB/s",
      ...(index === 0 && otherCpu !== undefined && { ratio: { to: "peer", value: otherCpu / ownCpu } }),
    },
    {
      name: `${name}, 20 MB application: peak above 0.1 MB`,
      value: agent.peakMb() - small.peakMb(),
      unit: "MB",
      goal: "at most 6 MB",
    },
  ]);
}

interface Measured {
  readonly bytes: number;
  /** Median of the rounds. */
  readonly seconds: number;
  /** Of its own process, per round: what neighbours on a busy machine cannot change much. */
  readonly cpuSeconds: number;
  readonly extraMb: number;
}

/** By turns, so that both see the same neighbours on a busy machine. */
async function measureBoth(children: readonly [BenchChild, BenchChild], path: string): Promise<[Measured, Measured]> {
  const ports = await Promise.all(children.map((child) => child.next<{ port: number }>()));
  // The first scrapes load and compile code: that is no memory of the bodies.
  for (const { port } of ports) for (let round = 0; round < 20; round++) await scrape(port, "/warm?bytes=600000");
  const before = children.map((child) => child.memory().rss);
  const times: [number[], number[]] = [[], []];
  const sizes = [0, 0];
  let cpu = [0, 0];
  for (let round = 0; round < WARM_UPS + ROUNDS; round++) {
    if (round === WARM_UPS) cpu = children.map((child) => child.cpuSeconds());
    for (const index of [0, 1] as const) {
      const startedAt = performance.now();
      sizes[index] = await scrape(ports[index]?.port ?? 0, path);
      if (round >= WARM_UPS) times[index].push((performance.now() - startedAt) / 1000);
    }
  }
  const result = (index: 0 | 1): Measured => ({
    bytes: sizes[index] ?? 0,
    seconds: times[index].sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN,
    cpuSeconds: (children[index].cpuSeconds() - (cpu[index] ?? 0)) / ROUNDS,
    extraMb: children[index].memory().peakRss - (before[index] ?? 0),
  });
  return [result(0), result(1)];
}

const buffer = Buffer.allocUnsafe(256 * 1024);

/** Counts the bytes of an answer without looking at them, in constant memory: the scraper must not be what is measured. */
function scrape(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const socket = connect({
      host: "127.0.0.1",
      port,
      onread: {
        buffer,
        callback: (size) => {
          bytes += size;
          return true;
        },
      },
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(bytes));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  });
}
