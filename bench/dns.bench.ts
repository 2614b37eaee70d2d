import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whyNoSharedPorts } from "../src/dns/port-sharing.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { type BenchChild, startChild } from "./child.ts";
import { hasDnsperf, p99At, throughput } from "./dns/dnsperf.ts";

/** Short and many: what disturbs a shared machine comes and goes in seconds. */
const ROUNDS = 10;
const SECONDS = 1;
const LATENCY_SECONDS = 2;
/** What the reply to a query of a known name is longer than the query: one address record. */
const RECORD_BYTES = "16";
const UPSTREAM_HOST = "127.0.0.9";
const SERVICES = 10_000;

interface Target {
  readonly child: BenchChild;
  readonly port: number;
  readonly queries: string;
}

/** Queries of known names and forwarded ones, against a bare UDP echo of the same runtime, in turns so that all meet the same machine. */
const dns: Bench = {
  name: "dns",
  async run({ note }) {
    if (!(await hasDnsperf())) {
      note("dnsperf is missing: apt-get install dnsperf");
      return [];
    }
    const folder = await mkdtemp(join(tmpdir(), "dns-bench-"));
    try {
      return await measure(folder, note);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

export default dns;

async function measure(folder: string, note: (text: string) => void): Promise<BenchRow[]> {
  const [known, unknown, resolvConf] = ["known", "unknown", "resolv.conf"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const lines = (count: number, name: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => `${name(index)} A\n`).join("");
  await writeFile(
    known,
    lines(1_000, (index) => `svc${index}.ns1.svc.cluster.local`),
  );
  await writeFile(
    unknown,
    lines(10_000, (index) => `host${index}.example.com`),
  );
  await writeFile(resolvConf, `nameserver ${UPSTREAM_HOST}\nsearch ns1.svc.cluster.local\n`);
  await using upstream = await startChild("dns/echo.ts", [UPSTREAM_HOST]);
  const { port: upstreamPort } = await upstream.next<{ port: number }>();
  await using echo = await startChild("dns/echo.ts", ["127.0.0.1", RECORD_BYTES]);
  const { port: echoPort } = await echo.next<{ port: number }>();
  const options = [resolvConf, String(upstreamPort), String(SERVICES)];
  await using server = await startChild("dns/server.ts", options);
  const { port, tableMs } = await server.next<{ port: number; tableMs: number }>();
  const obstacle = await whyNoSharedPorts();
  if (obstacle !== undefined) note(`no figures of two threads: sockets cannot share a port here (${obstacle})`);
  await using pair = await startChild("dns/server.ts", [...options, obstacle === undefined ? "2" : "1"]);
  const { port: pairPort } = await pair.next<{ port: number }>();
  // Before the load: afterwards it is the garbage of the last seconds that is compared.
  const [memory, pairMemory] = [server.memory().anonymous, pair.memory().anonymous];
  const targets = {
    echo: { child: echo, port: echoPort, queries: known },
    hits: { child: server, port, queries: known },
    twoThreads: { child: pair, port: pairPort, queries: known },
    forwards: { child: server, port, queries: unknown },
  };
  const names = (["echo", "hits", "twoThreads", "forwards"] as const).filter(
    (name) => name !== "twoThreads" || obstacle === undefined,
  );
  const best = { echo: NOTHING, hits: NOTHING, twoThreads: NOTHING, forwards: NOTHING };
  for (let round = 1; round <= ROUNDS; round++) {
    const notes: string[] = [];
    for (const name of names) {
      const figures = await load(targets[name]);
      notes.push(`${name} ${Math.round(figures.perSecond)}/s ${figures.cpuMicros.toFixed(2)} us`);
      best[name] = better(best[name], figures);
    }
    note(`round ${round}: ${notes.join(", ")} CPU each`);
  }
  const latency = async (name: keyof typeof targets, rate: number) =>
    p99At(targets[name].port, targets[name].queries, rate, LATENCY_SECONDS);
  const [echoP99, hitP99, forwardP99] = [
    await latency("echo", 10_000),
    await latency("hits", 10_000),
    await latency("forwards", 2_000),
  ];
  return [
    row("hits", best.hits.perSecond, "/s", best.hits.perSecond / best.echo.perSecond, ">= 0.85"),
    row(
      "hits: CPU",
      best.hits.cpuMicros,
      "us",
      best.echo.cpuMicros / best.hits.cpuMicros,
      ">= 0.85 of echo's queries per CPU second",
    ),
    row("hits: p99 at 10,000/s", hitP99, "ms", hitP99 / echoP99),
    ...(obstacle === undefined ? twoThreadRows(best.twoThreads, best.hits, pairMemory - memory) : []),
    row("forwards", best.forwards.perSecond, "/s", best.forwards.perSecond / best.echo.perSecond),
    row("forwards: CPU", best.forwards.cpuMicros, "us", best.echo.cpuMicros / best.forwards.cpuMicros),
    { name: "forwards: p99 at 2,000/s", value: forwardP99, unit: "ms" },
    { name: `table of ${SERVICES} services`, value: tableMs, unit: "ms" },
    { name: "private memory with that table", value: memory, unit: "MB" },
  ];
}

function twoThreadRows(two: Figures, one: Figures, moreMemory: number): BenchRow[] {
  const to = "one thread";
  return [
    {
      name: "two threads: hits",
      value: two.perSecond,
      unit: "/s",
      ratio: { to, value: two.perSecond / one.perSecond },
    },
    { name: "two threads: CPU", value: two.cpuMicros, unit: "us", ratio: { to, value: one.cpuMicros / two.cpuMicros } },
    { name: "two threads: more private memory", value: moreMemory, unit: "MB" },
  ];
}

interface Figures {
  readonly perSecond: number;
  readonly cpuMicros: number;
}

const NOTHING: Figures = { perSecond: 0, cpuMicros: Number.POSITIVE_INFINITY };

async function load({ child, port, queries }: Target): Promise<Figures> {
  const before = child.cpuSeconds();
  const { count, perSecond } = await throughput(port, queries, SECONDS);
  return { perSecond, cpuMicros: ((child.cpuSeconds() - before) / count) * 1e6 };
}

/** The best of the rounds is the one that was disturbed least. */
function better(left: Figures, right: Figures): Figures {
  return { perSecond: Math.max(left.perSecond, right.perSecond), cpuMicros: Math.min(left.cpuMicros, right.cpuMicros) };
}

function row(name: string, value: number, unit: string, ratio: number, goal?: string): BenchRow {
  return { name, value, unit, ratio: { to: "echo", value: ratio }, ...(goal !== undefined && { goal }) };
}
