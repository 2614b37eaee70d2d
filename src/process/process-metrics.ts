import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { msToNextTick } from "../base/aligned-interval.ts";

/** Linux counts processor time in hundredths of a second for every reader. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

interface Figure {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly labels?: string;
  readonly value: number | undefined;
}

/** The usual process collector's figures and Node's own, as text. Where /proc is missing, only Node's. */
export function renderProcessMetrics(lag: EventLoopLag): string {
  return [...processFigures(), ...nodeFigures(lag)]
    .filter(({ value }) => value !== undefined && Number.isFinite(value))
    .map(
      ({ name, type, help, labels = "", value }) =>
        `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name}${labels} ${value}\n`,
    )
    .join("");
}

function processFigures(): Figure[] {
  const stat = read("/proc/self/stat");
  // The command name may hold blanks and brackets: fields are counted behind its last bracket.
  const fields = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const limits = read("/proc/self/limits");
  const bootTime = Number(/^btime (\d+)/m.exec(read("/proc/stat"))?.[1]);
  const [received, sent] = networkBytes(read("/proc/self/net/dev"));
  const at = (index: number) => fields[index] ?? Number.NaN;
  return [
    counter(
      "process_cpu_seconds_total",
      "Total user and system CPU time spent in seconds.",
      (at(11) + at(12)) / TICKS_PER_SECOND,
    ),
    gauge("process_open_fds", "Number of open file descriptors.", countDescriptors()),
    gauge("process_max_fds", "Maximum number of open file descriptors.", limitOf(limits, "Max open files")),
    gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", at(20)),
    gauge(
      "process_virtual_memory_max_bytes",
      "Maximum amount of virtual memory available in bytes.",
      limitOf(limits, "Max address space"),
    ),
    gauge("process_resident_memory_bytes", "Resident memory size in bytes.", at(21) * PAGE_BYTES),
    gauge(
      "process_start_time_seconds",
      "Start time of the process since unix epoch in seconds.",
      bootTime + at(19) / TICKS_PER_SECOND,
    ),
    counter(
      "process_network_receive_bytes_total",
      "Number of bytes received by the process over the network.",
      received,
    ),
    counter("process_network_transmit_bytes_total", "Number of bytes sent by the process over the network.", sent),
  ];
}

function nodeFigures(lag: EventLoopLag): Figure[] {
  // Not imported from node:process: that reads every property of it, and opens stdin for one of them.
  const { heapTotal, heapUsed, external } = process.memoryUsage();
  const { lastSeconds, maxSeconds } = lag.take();
  return [
    gauge("nodejs_eventloop_lag_seconds", "How late a timer fired, at the last look.", lastSeconds),
    gauge("nodejs_eventloop_lag_max_seconds", "How late a timer fired at worst since the previous scrape.", maxSeconds),
    gauge(
      "nodejs_eventloop_utilization",
      "Share of time the event loop was busy.",
      performance.eventLoopUtilization().utilization,
    ),
    gauge("nodejs_heap_size_total_bytes", "Heap size in bytes.", heapTotal),
    gauge("nodejs_heap_size_used_bytes", "Used heap in bytes.", heapUsed),
    gauge("nodejs_external_memory_bytes", "Memory outside the heap that objects hold, in bytes.", external),
    { ...gauge("nodejs_version_info", "Node version.", 1), labels: `{version="${process.version}"}` },
  ];
}

function counter(name: string, help: string, value: number | undefined): Figure {
  return { name, type: "counter", help, value };
}

function gauge(name: string, help: string, value: number | undefined): Figure {
  return { name, type: "gauge", help, value };
}

/** `unlimited` is the largest 64-bit number, as the usual collectors show it. */
function limitOf(limits: string, name: string): number | undefined {
  const soft = new RegExp(`^${name}\\s+(\\S+)`, "m").exec(limits)?.[1];
  return soft === "unlimited" ? 18446744073709552000 : soft === undefined ? undefined : Number(soft);
}

/** Loopback included: all interfaces of the process's network namespace. */
function networkBytes(table: string): [number | undefined, number | undefined] {
  const rows = table.split("\n").flatMap((line) => {
    const [, counts] = line.split(":");
    return counts === undefined ? [] : [counts.trim().split(/\s+/).map(Number)];
  });
  if (rows.length === 0) return [undefined, undefined];
  const sum = (column: number) => rows.reduce((total, row) => total + (row[column] ?? 0), 0);
  return [sum(0), sum(8)];
}

function countDescriptors(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** How late timers fire: the first sign of work that blocks the process. */
export interface EventLoopLag {
  /** Resets the maximum. */
  take(): { readonly lastSeconds: number; readonly maxSeconds: number };
  stop(): void;
}

const INTERVAL_MS = 1000;

/** One timer a second that does not keep the process alive. */
export function startEventLoopLag(now: () => number = () => performance.now()): EventLoopLag {
  let due = 0;
  let last = 0;
  let max = 0;
  let timer: NodeJS.Timeout | undefined;
  const arm = () => {
    const ms = msToNextTick(INTERVAL_MS, now());
    due = now() + ms;
    timer = setTimeout(fired, ms).unref();
  };
  const fired = () => {
    last = Math.max(0, now() - due) / 1000;
    max = Math.max(max, last);
    arm();
  };
  arm();
  return {
    take() {
      // A timer that is overdue right now counts already.
      const overdue = Math.max(0, now() - due) / 1000;
      const taken = { lastSeconds: Math.max(last, overdue), maxSeconds: Math.max(max, overdue) };
      max = 0;
      return taken;
    },
    stop: () => clearTimeout(timer),
  };
}
