import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whyNoSharedPorts } from "../src/dns/start-dns-server.ts";
import type { Bench, BenchRow } from "./bench.ts";
import { startChild } from "./child.ts";
import { hasDnsperf, p99At } from "./dns/dnsperf.ts";
import { type DnsFigures, type DnsTarget, loadInTurns } from "./dns/rounds.ts";
import { measureSideBySide } from "./dns/side-by-side.ts";

const LATENCY_SECONDS = 2;
/** What the reply to a query of a known name is longer than the query: one address record. */
const RECORD_BYTES = "16";
const UPSTREAM_HOST = "127.0.0.9";
const SERVICES = 10_000;

/** Queries of known names and forwarded ones, against a bare UDP echo of the same runtime; with a peer also agent against agent. */
const dns: Bench = {
  name: "dns",
  async run({ program, peer, note }) {
    if (!(await hasDnsperf())) {
      note("dnsperf is missing: apt-get install dnsperf");
      return [];
    }
    const folder = await mkdtemp(join(tmpdir(), "dns-bench-"));
    try {
      const files = await writeQuestions(folder);
      const rows = await measure(files, note);
      if (peer === undefined) return rows;
      note("agents side by side");
      const sideBySide = { ...files, program, peer, services: SERVICES, upstreamHost: UPSTREAM_HOST };
      return [...rows, ...(await measureSideBySide(sideBySide, note))];
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

export default dns;

interface QuestionFiles {
  readonly known: string;
  readonly unknown: string;
  readonly resolvConf: string;
}

async function writeQuestions(folder: string): Promise<QuestionFiles> {
  const lines = (count: number, name: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => `${name(index)} A\n`).join("");
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  return {
    known: await write(
      "known",
      lines(1_000, (index) => `svc${index}.ns1.svc.cluster.local`),
    ),
    unknown: await write(
      "unknown",
      lines(10_000, (index) => `host${index}.example.com`),
    ),
    resolvConf: await write("resolv.conf", `nameserver ${UPSTREAM_HOST}\nsearch ns1.svc.cluster.local\n`),
  };
}

async function measure(
  { known, unknown, resolvConf }: QuestionFiles,
  note: (text: string) => void,
): Promise<BenchRow[]> {
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
    echo: { port: echoPort, queries: known, cpuSeconds: echo.cpuSeconds },
    hits: { port, queries: known, cpuSeconds: server.cpuSeconds },
    forwards: { port, queries: unknown, cpuSeconds: server.cpuSeconds },
  };
  const twoThreads = { port: pairPort, queries: known, cpuSeconds: pair.cpuSeconds };
  const best: Record<keyof typeof targets, DnsFigures> & { twoThreads?: DnsFigures } = await loadInTurns(
    obstacle === undefined ? { ...targets, twoThreads } : targets,
    note,
  );
  const latency = (target: DnsTarget, rate: number) => p99At(target.port, target.queries, rate, LATENCY_SECONDS);
  const [echoP99, hitP99, forwardP99] = [
    await latency(targets.echo, 10_000),
    await latency(targets.hits, 10_000),
    await latency(targets.forwards, 2_000),
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
    ...(best.twoThreads === undefined ? [] : twoThreadRows(best.twoThreads, best.hits, pairMemory - memory)),
    row("forwards", best.forwards.perSecond, "/s", best.forwards.perSecond / best.echo.perSecond),
    row("forwards: CPU", best.forwards.cpuMicros, "us", best.echo.cpuMicros / best.forwards.cpuMicros),
    { name: "forwards: p99 at 2,000/s", value: forwardP99, unit: "ms" },
    { name: `table of ${SERVICES} services`, value: tableMs, unit: "ms" },
    { name: "private memory with that table", value: memory, unit: "MB" },
  ];
}

function twoThreadRows(two: DnsFigures, one: DnsFigures, moreMemory: number): BenchRow[] {
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

function row(name: string, value: number, unit: string, ratio: number, goal?: string): BenchRow {
  return { name, value, unit, ratio: { to: "echo", value: ratio }, ...(goal !== undefined && { goal }) };
}
