import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseStrictly } from "../../test/support/status/document.ts";
import { renderProcessMetrics, startEventLoopLag } from "./process-metrics.ts";

test("the usual figures are there and true", () => {
  const lag = startEventLoopLag();
  const { families, series } = parseStrictly(renderProcessMetrics(lag), "text");
  lag.stop();
  expect([...families.keys()]).toEqual([
    "process_cpu_seconds_total",
    "process_open_fds",
    "process_max_fds",
    "process_virtual_memory_bytes",
    "process_virtual_memory_max_bytes",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_network_receive_bytes_total",
    "process_network_transmit_bytes_total",
    "nodejs_eventloop_lag_seconds",
    "nodejs_eventloop_lag_max_seconds",
    "nodejs_eventloop_utilization",
    "nodejs_heap_size_total_bytes",
    "nodejs_heap_size_used_bytes",
    "nodejs_external_memory_bytes",
    "nodejs_version_info",
  ]);
  const value = (name: string) => Number(series.get(name));
  expect(value("process_resident_memory_bytes") / process.memoryUsage().rss).toBeCloseTo(1, 0);
  expect(Date.now() / 1000 - value("process_start_time_seconds")).toBeGreaterThan(0);
  expect(Date.now() / 1000 - value("process_start_time_seconds")).toBeLessThan(600);
  const used = process.cpuUsage();
  expect(value("process_cpu_seconds_total")).toBeCloseTo((used.user + used.system) / 1e6, 0);
  expect(value("process_max_fds")).toBe(
    Number(/Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]),
  );
});

test("a blocked event loop shows as lag, once", () => {
  let now = 0;
  const lag = startEventLoopLag(() => now);
  now = 3000;
  expect(lag.take()).toEqual({ lastSeconds: 2, maxSeconds: 2 });
  now = 500;
  expect(lag.take().maxSeconds).toBe(0);
  lag.stop();
});
