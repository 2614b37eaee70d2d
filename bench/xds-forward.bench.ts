import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGrpcChannel } from "../src/grpc/index.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { startChild } from "./child.ts";

const PATH = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
/** A gigabyte each: less would measure the compiler rather than the proxy. */
const SHAPES = [
  { name: "5 MB, 1 client", bytes: 5_000_000, clients: 1, count: 200 },
  { name: "5 MB, 20 clients", bytes: 5_000_000, clients: 20, count: 10 },
  { name: "50 kB, 1 client", bytes: 50_000, clients: 1, count: 20_000 },
  { name: "50 kB, 20 clients", bytes: 50_000, clients: 20, count: 1000 },
] as const;

/** Responses through the proxy against the same responses over a direct connection, and what the proxy's process pays for them. */
const xdsForward: Bench = {
  name: "xds-forward",
  async run({ note }) {
    const rows: BenchRow[] = [];
    for (const shape of SHAPES) {
      note(shape.name);
      rows.push(...(await measure(shape)));
    }
    return rows;
  },
};

export default xdsForward;

async function measure(shape: (typeof SHAPES)[number]): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "xds-bench-"));
  try {
    await using upstream = await startChild("xds-forward/upstream.ts", [String(shape.bytes), String(shape.count)]);
    const { address, bytes } = await upstream.next<{ address: { host: string; port: number }; bytes: number }>();
    const target = `${address.host}:${address.port}`;
    const socket = join(folder, "XDS");
    await using proxy = await startChild("xds-forward/proxy.ts", [socket, target]);
    await proxy.next();
    const idle = proxy.memory().anonymous;
    const megabytes = (bytes * shape.count * shape.clients) / 1e6;
    const direct = await receive(target, shape);
    const before = proxy.cpuSeconds();
    const proxied = await receive(`unix:${socket}`, shape);
    const cpu = proxy.cpuSeconds() - before;
    const { peakRss } = proxy.memory();
    return [
      {
        name: `${shape.name}: throughput`,
        value: megabytes / proxied,
        unit: "MB/s",
        ratio: { to: "direct", value: direct / proxied },
      },
      {
        name: `${shape.name}: CPU`,
        value: (cpu / megabytes) * 1000,
        unit: "s/GB",
        goal: "<= 3.0 (0.8 of the Go agent's 3.7)",
      },
      { name: `${shape.name}: peak RSS`, value: peakRss, unit: "MB", goal: "<= 83 (0.7 of 118)" },
      { name: `${shape.name}: idle private`, value: idle, unit: "MB" },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Seconds until every client has all its messages. */
async function receive(target: string, shape: (typeof SHAPES)[number]): Promise<number> {
  const start = performance.now();
  await Promise.all(Array.from({ length: shape.clients }, () => readAll(target, shape.count)));
  return (performance.now() - start) / 1000;
}

async function readAll(target: string, count: number): Promise<void> {
  await using channel = createGrpcChannel(target, { maxReceiveBytes: 2 ** 31 - 1, windowBytes: 1024 * 1024 });
  const call = await channel.raw(PATH);
  // An empty request is a valid one.
  call.writeFrameStart(0);
  let seen = 0;
  await new Promise<void>((resolve, reject) => {
    const reading = call.readFrames({
      start: () => undefined,
      bytes: () => undefined,
      end() {
        seen += 1;
        if (seen === count) resolve();
      },
    });
    reading.catch(reject);
  });
}
