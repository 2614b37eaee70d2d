import { expect, test } from "vitest";
import { MetricRegistry } from "./metric-registry.ts";

test("a counter shows nothing until it counts, then one line per label set", () => {
  const registry = new MetricRegistry();
  const requests = registry.counter({ name: "dns_requests_total", help: "Total DNS requests.", labels: ["kind"] });
  expect(registry.render()).toBe("");
  requests.inc(["a"]);
  requests.inc(["a"], 2);
  requests.inc(["b"]);
  expect(registry.render()).toBe(
    '# HELP dns_requests_total Total DNS requests.\n# TYPE dns_requests_total counter\ndns_requests_total{kind="a"} 3\ndns_requests_total{kind="b"} 1\n',
  );
});

test("a gauge is set, moved and removed", () => {
  const registry = new MetricRegistry();
  const clients = registry.gauge({ name: "clients", help: "h" });
  clients.set(5);
  clients.add(-2);
  expect(registry.render()).toContain("clients 3\n");
  clients.remove();
  expect(registry.render()).toBe("");
});

test("a gauge may be read at each scrape", () => {
  let value = 1;
  const registry = new MetricRegistry();
  registry.gaugeOf({ name: "lag", help: "h" }, () => value);
  value = 7;
  expect(registry.render()).toContain("lag 7\n");
});

test("histogram buckets are cumulative and end at +Inf", () => {
  const registry = new MetricRegistry();
  const seconds = registry.histogram({ name: "wait_seconds", help: "h", labels: ["kind"], buckets: [0.1, 1] });
  for (const value of [0.05, 0.5, 5]) seconds.observe(value, ["x"]);
  expect(registry.render()).toContain(
    [
      'wait_seconds_bucket{kind="x",le="0.1"} 1',
      'wait_seconds_bucket{kind="x",le="1"} 2',
      'wait_seconds_bucket{kind="x",le="+Inf"} 3',
      'wait_seconds_sum{kind="x"} 5.55',
      'wait_seconds_count{kind="x"} 3',
    ].join("\n"),
  );
});

test("OpenMetrics names counters with _total, their family without, and ends with EOF", () => {
  const registry = new MetricRegistry();
  registry.counter({ name: "startup_count", help: "h" }).inc();
  registry.counter({ name: "calls_total", help: "h" }).inc();
  expect(registry.render("openmetrics")).toBe(
    "# HELP startup_count h\n# TYPE startup_count counter\nstartup_count_total 1\n# HELP calls h\n# TYPE calls counter\ncalls_total 1\n# EOF\n",
  );
});

test("label values and help are escaped", () => {
  const registry = new MetricRegistry();
  registry.counter({ name: "c", help: "two\nlines \\", labels: ["v"] }).inc(['q"\\\n']);
  expect(registry.render()).toBe('# HELP c two\\nlines \\\\\n# TYPE c counter\nc{v="q\\"\\\\\\n"} 1\n');
});

test("a name declared twice is refused", () => {
  const registry = new MetricRegistry();
  registry.counter({ name: "same", help: "h" });
  expect(() => registry.gauge({ name: "same", help: "h" })).toThrow("metric same is declared twice");
});

test("more series than a function takes arguments are rendered", () => {
  const registry = new MetricRegistry();
  const counter = registry.counter({ name: "many_total", help: "Many.", labels: ["at"] });
  for (let at = 0; at < 200_000; at += 1) counter.inc([String(at)]);
  expect(registry.render().split("\n")).toHaveLength(200_003);
});
