import { readFileSync } from "node:fs";

/** What a process costs, seen from outside. */
export interface ProcessFigures {
  cpuSeconds(): number;
  /** Megabytes: resident now, its highest value so far, and private (anonymous) now. */
  memory(): { readonly rss: number; readonly peakRss: number; readonly anonymous: number };
}

const CLOCK_TICKS = 100;

export function processFigures(pid: number): ProcessFigures {
  const file = (name: string) => readFileSync(`/proc/${pid}/${name}`, "utf8");
  const megabytes = (name: string, key: string) =>
    Number(new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(file(name))?.[1] ?? Number.NaN) / 1024;
  return {
    cpuSeconds() {
      const text = file("stat");
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
    },
    memory: () => ({
      rss: megabytes("status", "VmRSS"),
      peakRss: megabytes("status", "VmHWM"),
      anonymous: megabytes("smaps_rollup", "Anonymous"),
    }),
  };
}
