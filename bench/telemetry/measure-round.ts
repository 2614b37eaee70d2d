import { readdirSync, readFileSync } from "node:fs";
import type { HttpResult, WorkloadProcess } from "../../test/support/discovery/workload.ts";

const REQUESTS = 600;
const CONCURRENCY = 4;

export interface Round {
  readonly cpuMicros: number;
  readonly perSecond: number;
  readonly p99Ms: number;
}

/** What some requests cost these Envoys. */
export async function measureRound(
  client: WorkloadProcess,
  target: { readonly address: string; readonly port: number; readonly host: string },
  envoys: readonly number[],
): Promise<Round> {
  const call = (count: number) => client.http({ ...target, count, concurrency: CONCURRENCY });
  // Connections are open and series are made before anything is measured.
  expectAnswers(await call(200));
  const [cpuBefore, before] = [cpuMicros(envoys), performance.now()];
  const answers = await call(REQUESTS);
  const [cpu, elapsedMs] = [cpuMicros(envoys) - cpuBefore, performance.now() - before];
  expectAnswers(answers);
  const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return {
    cpuMicros: cpu / REQUESTS,
    perSecond: (REQUESTS / elapsedMs) * 1000,
    p99Ms: times[Math.floor(times.length * 0.99)] ?? 0,
  };
}

function expectAnswers(answers: readonly HttpResult[]): void {
  const wrong = answers.find(({ status }) => status !== 200);
  if (wrong !== undefined) throw new Error(`${wrong.status} ${wrong.error ?? wrong.body}`);
}

/** Nanoseconds on a processor, of all threads: the ticks of /proc/PID/stat are too coarse for a round. */
function cpuMicros(pids: readonly number[]): number {
  const ofThread = (path: string) => Number(readFileSync(path, "utf8").split(" ")[0]) / 1000;
  return pids
    .flatMap((pid) => readdirSync(`/proc/${pid}/task`).map((task) => ofThread(`/proc/${pid}/task/${task}/schedstat`)))
    .reduce((sum, each) => sum + each, 0);
}
