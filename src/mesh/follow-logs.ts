import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { wait } from "../base/wait.ts";
import { replaceFileSync } from "../files/replace-file.ts";
import { lastLines } from "./core/log-lines.ts";
import type { Workload } from "./core/mesh-plan.ts";
import { positionSince } from "./process/log-times.ts";
import { readNewLines, readTail } from "./process/read-log.ts";

export interface LogSource {
  /** `front/app` */
  readonly name: string;
  readonly path: string;
}

/** The logs of a mesh; of one workload, of one of its parts, or of all workloads of a service, when named. */
export function findLogs(folder: string, wanted: string | undefined): readonly LogSource[] {
  const all = readdirSync(folder)
    .filter((name) => name.endsWith(".log"))
    .sort()
    .map((name) => ({
      name: name.slice(0, -".log".length).replace(/\.(app|agent)$/, "/$1"),
      path: join(folder, name),
    }));
  if (wanted === undefined) return all;
  const own = (workload: string) => all.filter(({ name }) => name === workload || name.startsWith(`${workload}/`));
  const found = own(wanted);
  if (found.length > 0) return found;
  const [service = "", part] = wanted.split("/");
  const workloads = readServices(folder)[service] ?? [];
  return workloads.flatMap((workload) => own(part === undefined ? workload : `${workload}/${part}`));
}

/** Also when the mesh is down and its plan is gone. */
export function writeServices(
  folder: string,
  { workloads }: { readonly workloads: readonly Pick<Workload, "name" | "service">[] },
): void {
  const names: Record<string, string[]> = {};
  for (const { service, name } of workloads) names[service] = [...(names[service] ?? []), name];
  replaceFileSync(join(folder, SERVICES), `${JSON.stringify(names)}\n`, { mode: 0o644 });
}

const SERVICES = "services.json";

/** Names of workloads by service. */
export function readServices(folder: string): Readonly<Record<string, readonly string[]>> {
  try {
    return JSON.parse(readFileSync(join(folder, SERVICES), "utf8"));
  } catch {
    return {};
  }
}

export interface FollowOptions {
  /** Lines of each log to begin with. */
  readonly tail: number;
  /** Only lines that were written later, as far as is known. */
  readonly since?: number | undefined;
  readonly follow: boolean;
  readonly signal: AbortSignal;
  show(source: LogSource, text: string): void;
}

const POLL_MS = 200;

/** Shows the ends of the logs, then what is added until the signal. Only whole lines are shown. */
export async function followLogs(sources: readonly LogSource[], options: FollowOptions): Promise<void> {
  const positions = new Map<string, number>();
  for (const source of sources) {
    const end = options.since === undefined ? showTail(source, options) : showSince(source, options.since, options);
    positions.set(source.path, end);
  }
  while (options.follow && !options.signal.aborted) {
    await wait(POLL_MS, options.signal);
    for (const source of sources) {
      const show = (text: string) => options.show(source, text);
      positions.set(source.path, readOn(source.path, positions.get(source.path) ?? 0, show, options.signal));
    }
  }
}

function showTail(source: LogSource, { tail, show }: FollowOptions): number {
  const { text, end } = readTail(source.path);
  const shown = lastLines(text, tail);
  if (shown !== "") show(source, shown);
  return end;
}

function showSince(source: LogSource, since: number, { tail, show, signal }: FollowOptions): number {
  let kept = "";
  const take = (text: string) => {
    if (tail === Number.POSITIVE_INFINITY) show(source, text);
    else kept = lastLines(kept + text, tail);
  };
  const earlier = `${source.path}.1`;
  readOn(earlier, positionSince(earlier, since), take, signal);
  const end = readOn(source.path, positionSince(source.path, since), take, signal);
  if (kept !== "") show(source, kept);
  return end;
}

/** Piece by piece: somebody may have written more than belongs into memory. Returns where it ended. */
function readOn(path: string, from: number, show: (text: string) => void, signal: AbortSignal): number {
  let position = from;
  for (;;) {
    const { text, end, isAll } = readNewLines(path, position);
    if (text !== "") show(text);
    position = end;
    if (isAll || signal.aborted) return position;
  }
}
