import { setTimeout as delay } from "node:timers/promises";
import type { Bench, BenchRow } from "./bench.ts";
import { startChild } from "./child.ts";
import type { EchoResult } from "./grpc-echo/workload.ts";

const ROUNDS = 3;
const SETTLE_MS = 1500;

interface Measured extends EchoResult {
  readonly idleMegabytes: number;
}

/** Our gRPC layer against grpc-js in the same run: echo throughput, and private memory of an idle process with server and client. */
const grpcEcho: Bench = {
  name: "grpc-echo",
  async run({ note }) {
    const bare = await idleMegabytes("grpc-echo/bare.ts");
    const ours: Measured[] = [];
    const theirs: Measured[] = [];
    // Taken in turns, so that a busy minute of the machine hits both.
    for (let round = 1; round <= ROUNDS; round++) {
      note(`round ${round} of ${ROUNDS}`);
      ours.push(await measure("grpc-echo/ours.ts"));
      theirs.push(await measure("grpc-echo/grpc-js.ts"));
    }
    const row = (name: string, unit: string, read: (each: Measured) => number): BenchRow => {
      const [value, baseline] = [median(ours.map(read)), median(theirs.map(read))];
      return { name, value, unit, ratio: { to: `grpc-js (${baseline.toFixed(0)})`, value: value / baseline } };
    };
    return [
      row("unary echo, 50 at a time, 100 B", "calls/CPU s", (each) => each.unaryPerSecond),
      row("stream echo, 100 B", "messages/CPU s", (each) => each.streamPerSecond),
      row("stream echo, 1 MB", "MB/CPU s", (each) => each.streamMegabytesPerSecond),
      row("idle private memory, server and client", "MB", (each) => each.idleMegabytes),
      row("idle private memory beyond a bare process", "MB", (each) => each.idleMegabytes - bare),
      {
        name: "idle private memory saved against grpc-js",
        value: median(theirs.map((each) => each.idleMegabytes)) - median(ours.map((each) => each.idleMegabytes)),
        unit: "MB",
      },
    ];
  },
};

export default grpcEcho;

async function measure(entry: string): Promise<Measured> {
  await using child = await startChild(entry);
  await child.next();
  await delay(SETTLE_MS); // start-up garbage is collected and freed pages are given back
  const idle = child.memory().anonymous;
  child.process.send("go");
  return { ...(await child.next<EchoResult>()), idleMegabytes: idle };
}

async function idleMegabytes(entry: string): Promise<number> {
  await using child = await startChild(entry);
  await child.next();
  await delay(SETTLE_MS);
  return child.memory().anonymous;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
