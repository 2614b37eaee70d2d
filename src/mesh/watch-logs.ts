import { statSync } from "node:fs";
import { msToNextTick } from "../base/aligned-interval.ts";
import { wait } from "../base/wait.ts";
import { type EnvoyLife, nextEnvoyLife, UNTROUBLED } from "./core/envoy-life.ts";
import { findLogs, type LogSource } from "./follow-logs.ts";
import { createLogTimes } from "./process/log-times.ts";
import { readNewLines } from "./process/read-log.ts";
import type { Say } from "./start-options.ts";
import type { StateFolder } from "./state/state-folder.ts";

export interface LogWatchOptions {
  readonly folder: Pick<StateFolder, "logs">;
  /** Whole lines of an application, as it writes them. */
  readonly onOutput: ((workload: string, text: string) => void) | undefined;
  readonly say: Say;
}

/** Reads the logs of a running mesh as they grow. */
export interface LogWatch {
  /** What the agent of the workload has reported about its Envoy. */
  envoy(workload: string): EnvoyLife;
  /** Reads to the end once more. */
  stop(): Promise<void>;
}

const POLL_MS = 250;
/** Looks until those logs are looked at, too, of which nothing but the size is noted, once in a second at most. */
const WHOLE_LOOKS = 4;

/** Envoys are children of agents: what happens to them is known here by the agents' words alone. */
export function startLogWatch({ folder, onOutput, say }: LogWatchOptions): LogWatch {
  const ending = new AbortController();
  const positions = new Map<string, number>();
  const times = createLogTimes();
  const envoys = new Map<string, EnvoyLife>();
  const take = ({ name }: LogSource, text: string) => {
    const [workload = "", part] = name.split("/");
    if (part === "app") onOutput?.(workload, text);
    if (part !== "agent") return;
    const { life, news } = nextEnvoyLife(envoys.get(workload) ?? UNTROUBLED, text);
    envoys.set(workload, life);
    if (!ending.signal.aborted) for (const line of news) say("warn", `${workload}/envoy: ${line}`);
  };
  let looks = 0;
  let listed: { readonly logs: readonly LogSource[]; readonly changedAt: number } | undefined;
  /** A list of the folder is a tenth of a millisecond, four times a second. */
  const logs = (isWhole: boolean) => {
    const changedAt = statSync(folder.logs, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (isWhole || listed?.changedAt !== changedAt) listed = { logs: logsOf(folder.logs), changedAt };
    return listed.logs;
  };
  const look = () => {
    const isWhole = looks % WHOLE_LOOKS === 0 || ending.signal.aborted;
    looks += 1;
    for (const source of logs(isWhole)) {
      const isRead = onOutput !== undefined || source.name.endsWith("/agent");
      if (!isRead && !isWhole) continue;
      const size = statSync(source.path, { throwIfNoEntry: false })?.size ?? 0;
      times.note(source.path, size, Date.now());
      if (!isRead) continue;
      // Most logs are silent most of the time: they need not be opened four times a second.
      if (positions.get(source.path) === size) continue;
      for (;;) {
        const { text, end, isAll } = readNewLines(source.path, positions.get(source.path) ?? 0);
        if (text !== "") take(source, text);
        positions.set(source.path, end);
        if (isAll) break;
      }
    }
  };
  const run = async () => {
    while (!ending.signal.aborted) {
      await wait(msToNextTick(POLL_MS, performance.now()), ending.signal);
      look();
    }
  };
  const running = run();
  return {
    envoy: (workload) => envoys.get(workload) ?? UNTROUBLED,
    async stop() {
      ending.abort();
      await running;
    },
  };
}

/** A full disk or a folder that is being removed is no reason to end. */
function logsOf(folder: string): readonly LogSource[] {
  try {
    return findLogs(folder, undefined);
  } catch {
    return [];
  }
}
