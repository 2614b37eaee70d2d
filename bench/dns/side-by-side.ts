import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { BenchContext, BenchRow } from "../bench.ts";
import { startChild } from "../child.ts";
import { startDnsAgents } from "./agents.ts";
import { p99At } from "./dnsperf.ts";
import { type DnsFigures, loadInTurns } from "./rounds.ts";

const LATENCY_SECONDS = 2;
const DNS_PORT = "53";

export interface SideBySide {
  readonly program: string;
  readonly peer: string;
  readonly services: number;
  /** Files with questions of known and of other names. */
  readonly known: string;
  readonly unknown: string;
  /** Names one server, which is started on port 53 of `upstreamHost`. */
  readonly resolvConf: string;
  readonly upstreamHost: string;
}

/** Our built agent and another one as whole programs, with the same name table of the same control plane. */
export async function measureSideBySide(options: SideBySide, note: BenchContext["note"]): Promise<BenchRow[]> {
  const { known, unknown, services } = options;
  const obstacle = await whyNoForwards();
  if (obstacle !== undefined) note(`no forwards side by side: ${obstacle}`);
  await using upstream = await startChild("dns/echo.ts", [
    options.upstreamHost,
    "0",
    obstacle === undefined ? DNS_PORT : "0",
  ]);
  await upstream.next();
  await using started = await startDnsAgents([options.program, options.peer], {
    services,
    resolvConf: obstacle === undefined ? options.resolvConf : undefined,
  });
  const [own, other] = started.agents;
  if (own === undefined || other === undefined) throw new Error("two agents were asked for");
  const [ownMb, otherMb] = [own.privateMb(), other.privateMb()];
  const best = await loadInTurns({ agent: { ...own, queries: known }, peer: { ...other, queries: known } }, note);
  const ownP99 = await p99At(own.port, known, 10_000, LATENCY_SECONDS);
  const otherP99 = await p99At(other.port, known, 10_000, LATENCY_SECONDS);
  const rows = [
    ...compare("agent: hits", best.agent, best.peer),
    compared("agent: p99 at 10,000/s", "ms", ownP99, otherP99),
    compared(`agent: private memory with ${services} services`, "MB", ownMb, otherMb),
  ];
  if (obstacle !== undefined) return rows;
  const forwards = await loadInTurns(
    { agent: { ...own, queries: unknown }, peer: { ...other, queries: unknown } },
    note,
  );
  return [...rows, ...compare("agent: forwards", forwards.agent, forwards.peer)];
}

/** Agents ask upstream servers on port 53 only, and find them in a file of the machine, which only a mount of their own replaces. */
async function whyNoForwards(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "port 53 and a mount namespace need root";
  return promisify(execFile)("unshare", ["--mount", "true"]).then(
    () => undefined,
    () => "no mount namespace can be made here",
  );
}

function compare(name: string, own: DnsFigures, other: DnsFigures): BenchRow[] {
  return [
    { ...compared(name, "/s", own.perSecond, other.perSecond), goal: ">= 1.2" },
    { ...compared(`${name} per CPU second`, "/s", 1e6 / own.cpuMicros, 1e6 / other.cpuMicros), goal: ">= 1.4" },
  ];
}

function compared(name: string, unit: string, own: number, other: number): BenchRow {
  const shown = other >= 100 ? Math.round(other) : other.toPrecision(3);
  return { name, value: own, unit, ratio: { to: `peer (${shown} ${unit})`, value: own / other } };
}
