import { beforeEach, expect, test } from "vitest";
import { httpRequest } from "../../src/net/http-client/http-request.ts";
import { runEnvoy } from "../support/envoy/run-envoy.ts";
import { needs } from "../support/needs.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { startScrape } from "../support/status/scrape.ts";
import { seriesOf } from "../support/telemetry/read-metrics.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

const type = (name: string) => ({ "@type": `type.googleapis.com/envoy.extensions.${name}` });

/** Counts requests by what they say of themselves, with room for two series. */
function countingBootstrap(port: number): object {
  const labels = { name: "labels", value_format: "reporter=source @source=%REQ(x-who)%" };
  const accessLog = {
    name: "envoy.access_loggers.stats",
    typed_config: {
      ...type("access_loggers.stats.v3.Config"),
      stats_scope: { max_counters: 2, max_histograms: 1, sharing_name: "istio" },
      counters: [{ stat: { name: "istio_requests_total", tags: [labels] }, value_fixed: 1 }],
    },
  };
  const manager = {
    ...type("filters.network.http_connection_manager.v3.HttpConnectionManager"),
    stat_prefix: "in",
    access_log: [accessLog],
    http_filters: [{ name: "router", typed_config: type("filters.http.router.v3.Router") }],
    route_config: {
      virtual_hosts: [
        { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, direct_response: { status: 200 } }] },
      ],
    },
  };
  const address = { socket_address: { address: "127.0.0.1", port_value: port } };
  return {
    static_resources: {
      listeners: [{ address, filter_chains: [{ filters: [{ name: "http", typed_config: manager }] }] }],
    },
  };
}

test("series beyond the budget are not made: Envoy counts what it dropped, and the agent says it once", async () => {
  const [port = 0] = await freePorts(1);
  await using envoy = await runEnvoy(countingBootstrap(port));
  const url = `http://127.0.0.1:${port}/`;
  await until(async () => {
    const answer = await httpRequest({ url, headers: { "x-who": "a" }, timeoutMs: 5000 }).catch(() => undefined);
    return answer?.status === 200 ? undefined : "no answer";
  });
  for (const who of ["b", "c", "d", "c"]) await httpRequest({ url, headers: { "x-who": who }, timeoutMs: 5000 });
  await using merged = await startScrape({
    envoy: (_request, response) => {
      envoy.admin("/stats/prometheus").then((text) => response.end(text));
    },
  });
  const { text } = await merged.scrape();
  await merged.scrape();
  expect(seriesOf(text, "istio_requests_total").map(({ source_workload: who }) => who)).toEqual(["a", "b"]);
  expect(text).toMatch(/^envoy_server_stats_overflow_counter\{\} [1-9]/m);
  const warnings = merged.log.texts().filter((line) => line.includes("budget"));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/the budget of counter series .* is used up: \d+ samples of further series were dropped/);
});
