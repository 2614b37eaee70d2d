import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGrpcChannel } from "../src/grpc/client/create-grpc-channel.ts";
import { type MeshControlPlane, startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import type { Bench, BenchContext, BenchRow } from "./bench.ts";
import { startChild } from "./child.ts";
import type { ProcessFigures } from "./process-figures.ts";
import { startAgent } from "./xds-forward/start-agent.ts";

const PATH = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";
const CPU_GOAL = "<= 3.0 (0.8 of the Go agent's 3.7)";
const RSS_GOAL = "<= 83 (0.7 of 118)";

interface Shape {
  readonly name: string;
  readonly bytes: number;
  readonly clients: number;
  /** Responses to each client. */
  readonly count: number;
  /** From a control plane that compresses; figures are of what the clients get. */
  readonly encoding?: "gzip";
}

/** A gigabyte each: less would measure the compiler rather than the proxy. */
const SHAPES: readonly Shape[] = [
  { name: "5 MB, 1 client", bytes: 5_000_000, clients: 1, count: 200 },
  { name: "5 MB, 20 clients", bytes: 5_000_000, clients: 20, count: 10 },
  { name: "50 kB, 1 client", bytes: 50_000, clients: 1, count: 20_000 },
  { name: "50 kB, 20 clients", bytes: 50_000, clients: 20, count: 1000 },
  { name: "5 MB gzip, 1 client", bytes: 5_000_000, clients: 1, count: 200, encoding: "gzip" },
  { name: "5 MB gzip, 20 clients", bytes: 5_000_000, clients: 20, count: 10, encoding: "gzip" },
  { name: "50 kB gzip, 1 client", bytes: 50_000, clients: 1, count: 20_000, encoding: "gzip" },
];

/**
 * Responses through the proxy against the same responses over a direct connection, and what the proxy's process pays for them: the
 * proxy alone, then the whole agent and the peer's.
 */
const xdsForward: Bench = {
  name: "xds-forward",
  async run(context) {
    await using ca = await startMeshControlPlane({ resources: () => [] });
    const rows: BenchRow[] = [];
    for (const shape of SHAPES) {
      context.note(shape.name);
      rows.push(...(await measure(shape, context, ca)));
    }
    return rows;
  },
};

export default xdsForward;

async function measure(shape: Shape, context: BenchContext, ca: MeshControlPlane): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "xds-bench-"));
  try {
    const { bytes: size, count, encoding = "identity" } = shape;
    await using upstream = await startChild("xds-forward/upstream.ts", [String(size), String(count), encoding]);
    const { address, bytes } = await upstream.next<{ address: { host: string; port: number }; bytes: number }>();
    const target = `${address.host}:${address.port}`;
    const direct = await receive(target, shape);
    const load = { shape, bytes, directSeconds: direct.seconds };
    const rows: BenchRow[] = [];
    {
      const socket = join(folder, "XDS");
      await using proxy = await startChild("xds-forward/proxy.ts", [socket, target]);
      await proxy.next();
      const idle = proxy.memory().anonymous;
      rows.push(...(await forward(shape.name, socket, proxy, load)));
      rows.push({ name: `${shape.name}: idle private`, value: idle, unit: "MB" });
    }
    const agents = [
      { name: `${shape.name}, whole agent`, program: context.program },
      ...(context.peer === undefined ? [] : [{ name: `${shape.name}, peer`, program: context.peer }]),
    ];
    for (const { name, program } of agents) {
      await using agent = await startAgent(program, target, ca);
      rows.push(...(await forward(name, agent.socket, agent, load)));
    }
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function forward(
  name: string,
  socket: string,
  forwarder: ProcessFigures,
  load: { readonly shape: Shape; readonly bytes: number; readonly directSeconds: number },
): Promise<BenchRow[]> {
  const { shape, bytes, directSeconds } = load;
  const before = forwarder.cpuSeconds();
  const { seconds, served } = await receive(`unix:${socket}`, shape);
  // An agent that keeps the newest stream only has nothing to compare.
  if (served < shape.clients) return [{ name: `${name}: clients served`, value: served, unit: `of ${shape.clients}` }];
  const megabytes = (bytes * shape.count * shape.clients) / 1e6;
  const cpu = ((forwarder.cpuSeconds() - before) / megabytes) * 1000;
  const ratio = { to: "direct", value: directSeconds / seconds };
  // The goals were set for bytes that only pass.
  const isPlain = shape.encoding === undefined;
  return [
    { name: `${name}: throughput`, value: megabytes / seconds, unit: "MB/s", ratio },
    { name: `${name}: CPU`, value: cpu, unit: "s/GB", ...(isPlain && { goal: CPU_GOAL }) },
    { name: `${name}: peak RSS`, value: forwarder.memory().peakRss, unit: "MB", ...(isPlain && { goal: RSS_GOAL }) },
  ];
}

/** Until every client has all its messages or has lost its stream. */
async function receive(target: string, shape: Shape): Promise<{ readonly seconds: number; readonly served: number }> {
  const start = performance.now();
  const all = await Promise.all(Array.from({ length: shape.clients }, () => readAll(target, shape.count)));
  return { seconds: (performance.now() - start) / 1000, served: all.filter(Boolean).length };
}

/** False when the stream ends before. */
async function readAll(target: string, count: number): Promise<boolean> {
  await using channel = createGrpcChannel(target, { maxReceiveBytes: 2 ** 31 - 1, windowBytes: 1024 * 1024 });
  const call = await channel.raw(PATH);
  // An empty request is a valid one.
  call.writeFrameStart(0);
  let seen = 0;
  return await new Promise<boolean>((resolve) => {
    const reading = call.readFrames({
      start: () => undefined,
      bytes: () => undefined,
      end() {
        seen += 1;
        if (seen === count) resolve(true);
      },
    });
    const isServed = () => resolve(seen === count);
    reading.then(isServed, isServed);
  });
}
