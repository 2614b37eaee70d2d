import { throughput } from "./dnsperf.ts";

/** Short and many: what disturbs a shared machine comes and goes in seconds. */
const ROUNDS = 10;
const SECONDS = 1;

export interface DnsTarget {
  readonly port: number;
  /** File with the questions. */
  readonly queries: string;
  /** Of the answering process so far. */
  cpuSeconds(): number;
}

export interface DnsFigures {
  readonly perSecond: number;
  /** CPU of the answering process for one query. */
  readonly cpuMicros: number;
}

/** Loads the targets in turns, so that all meet the same machine; of each figure the best round, the one disturbed least. */
export async function loadInTurns<Targets extends Readonly<Record<string, DnsTarget>>>(
  targets: Targets,
  note: (text: string) => void,
): Promise<{ [Name in keyof Targets]: DnsFigures }> {
  const best = Object.fromEntries(Object.keys(targets).map((name) => [name, NOTHING])) as {
    [Name in keyof Targets]: DnsFigures;
  };
  for (let round = 1; round <= ROUNDS; round++) {
    const notes: string[] = [];
    for (const [name, target] of Object.entries(targets)) {
      const figures = await load(target);
      notes.push(`${name} ${Math.round(figures.perSecond)}/s ${figures.cpuMicros.toFixed(2)} us`);
      best[name as keyof Targets] = better(best[name as keyof Targets], figures);
    }
    note(`round ${round}: ${notes.join(", ")} CPU each`);
  }
  return best;
}

const NOTHING: DnsFigures = { perSecond: 0, cpuMicros: Number.POSITIVE_INFINITY };

async function load({ port, queries, cpuSeconds }: DnsTarget): Promise<DnsFigures> {
  const before = cpuSeconds();
  const { count, perSecond } = await throughput(port, queries, SECONDS);
  return { perSecond, cpuMicros: ((cpuSeconds() - before) / count) * 1e6 };
}

function better(left: DnsFigures, right: DnsFigures): DnsFigures {
  return { perSecond: Math.max(left.perSecond, right.perSecond), cpuMicros: Math.min(left.cpuMicros, right.cpuMicros) };
}
