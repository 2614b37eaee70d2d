import { readdirSync, readFileSync } from "node:fs";

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

/** Processor time of all threads of a process so far, to the nanosecond: ticks are too coarse for what costs a thousandth of a core. */
export function cpuNanoseconds(pid: number): number {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).reduce((sum, thread) => {
    try {
      return sum + Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ")[0]);
    } catch {
      // The thread has ended meanwhile.
      return sum;
    }
  }, 0);
}

/** Which part of a mesh a process is. */
export function meshPartOf(pid: number): "envoy" | "agent" | "control plane" | "application" {
  const commandLine = readFileSync(`/proc/${pid}/cmdline`, "utf8");
  if (/envoy\S*\0-c\0|--bootstrap-version|\/envoy\0/.test(commandLine)) return "envoy";
  if (commandLine.startsWith("pilot-agent proxy ")) return "agent";
  return commandLine.startsWith("pilot-agent discovery") ? "control plane" : "application";
}
