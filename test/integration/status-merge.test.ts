import type { IncomingMessage, ServerResponse } from "node:http";
import { gunzipSync, gzipSync } from "node:zlib";
import { beforeEach, expect, test } from "vitest";
import { needs } from "../support/needs.ts";
import { expectPromtoolAccepts, parseStrictly } from "../support/status/document.ts";
import { startScrape } from "../support/status/scrape.ts";

beforeEach(needs("promtool"));

const ENVOY = `# TYPE envoy_requests_total counter
envoy_requests_total{code="200"} 5
envoy_requests_total{code="503"} 1
# TYPE envoy_live gauge
envoy_live{} 1
`;
const APP = `# HELP app_jobs Jobs "waiting".
# TYPE app_jobs gauge
app_jobs{queue="a"} 3
app_free 4
`;
const OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const openMetrics =
  (body: string, type = OPENMETRICS) =>
  (_request: unknown, response: import("node:http").ServerResponse) => {
    response.setHeader("Content-Type", type);
    response.end(body);
  };

test("agent, Envoy and application come in this order as one text document", async () => {
  await using t = await startScrape({ envoy: ENVOY, applications: [APP] });
  const { status, headers, text } = await t.scrape();
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(headers.vary).toBe("Accept-Encoding");
  const { families, series } = parseStrictly(text, "text");
  await expectPromtoolAccepts(text);
  expect([...families.keys()]).toEqual([
    "istio_agent_scrapes_total",
    "envoy_requests_total",
    "envoy_live",
    "app_jobs",
    "app_free",
  ]);
  expect(series.get("istio_agent_scrapes_total")).toBe("1");
  expect(text).toContain('# HELP app_jobs Jobs "waiting".\n');
});

test("in early generations the agent's own metrics come last", async () => {
  await using t = await startScrape({ envoy: ENVOY, applications: [APP], options: { agentFirst: false } });
  const { text } = await t.scrape();
  const { families } = parseStrictly(text, "text");
  await expectPromtoolAccepts(text);
  expect([...families.keys()]).toEqual([
    "envoy_requests_total",
    "envoy_live",
    "app_jobs",
    "app_free",
    "istio_agent_scrapes_total",
  ]);
});

test.each([
  { filtersAccept: true, asked: ["text/plain; q=0.1; version=0.0.4", "text/plain; q=0.1; version=0.0.4"] },
  { filtersAccept: false, asked: ["application/json;q=0.3, */*", "application/json;q=0.3, */*"] },
])("sources see the scraper's Accept header, filtered: $filtersAccept", async ({ filtersAccept, asked }) => {
  const seen: (string | undefined)[] = [];
  const hear = (request: IncomingMessage, response: ServerResponse) => {
    seen.push(request.headers.accept);
    response.setHeader("Content-Type", "text/plain; version=0.0.4");
    response.end(seen.length === 1 ? ENVOY : APP);
  };
  await using t = await startScrape({ envoy: hear, applications: [hear], options: { filtersAccept } });
  await t.scrape({ Accept: "application/json;q=0.3, */*" });
  expect(seen).toEqual(asked);
});

test("families of several sources stand under one header; the application's value of a series wins", async () => {
  await using t = await startScrape({
    envoy: '# TYPE shared_total counter\nshared_total{from="envoy"} 1\nshared_total 1\n',
    applications: [
      '# HELP shared_total Both.\n# TYPE shared_total counter\nshared_total{from="app"} 2\nshared_total 7\n',
    ],
  });
  const { text } = await t.scrape();
  const { series } = parseStrictly(text, "text");
  await expectPromtoolAccepts(text);
  expect([...series]).toEqual([
    ["istio_agent_scrapes_total", "1"],
    ['shared_total{from="envoy"}', "1"],
    ['shared_total{from="app"}', "2"],
    ["shared_total", "7"],
  ]);
  expect(t.own('istio_agent_scrape_dropped_total{type="application",what="series"}')).toBe("1");
});

test("an application that repeats families and series gets them joined", async () => {
  const body = '# TYPE a counter\na{x="1"} 1\n# TYPE b gauge\nb 1\n# TYPE a counter\na{x="2"} 2\na{x="1"} 9\nb 2\n';
  await using t = await startScrape({ applications: [body] });
  const { text } = await t.scrape();
  await expectPromtoolAccepts(text);
  expect([...parseStrictly(text, "text").series].slice(1)).toEqual([
    ['a{x="1"}', "1"],
    ['a{x="2"}', "2"],
    ["b", "1"],
  ]);
});

test("a family of another type is left out and counted", async () => {
  await using t = await startScrape({
    envoy: "# TYPE x counter\nx 1\n",
    applications: ['# TYPE x gauge\nx{a="b"} 2\ny 1\n'],
  });
  const { text } = await t.scrape();
  expect([...parseStrictly(text, "text").series.keys()].slice(1)).toEqual(["x", "y"]);
  expect(t.own('istio_agent_scrape_dropped_total{type="application",what="family"}')).toBe("1");
});

test("process metrics are the application's where it has them", async () => {
  const agentText = () =>
    "# TYPE process_open_fds gauge\nprocess_open_fds 1\n# TYPE process_max_fds gauge\nprocess_max_fds 2\n";
  await using t = await startScrape({
    agentText,
    applications: ["# TYPE process_open_fds gauge\nprocess_open_fds 99\n"],
  });
  const { series } = parseStrictly((await t.scrape()).text, "text");
  expect([...series]).toEqual([
    ["process_open_fds", "99"],
    ["process_max_fds", "2"],
  ]);
});

test("an OpenMetrics application makes the whole answer OpenMetrics, with one EOF at its end", async () => {
  const app = `# TYPE jobs counter
jobs_total{a="b"} 1 1700000000.5 # {trace_id="x"} 0.5 1700000000
jobs_created{a="b"} 1700000000
# TYPE wait_seconds gauge
# UNIT wait_seconds seconds
wait_seconds 2
# TYPE odd gauge
# UNIT odd seconds
odd 1
# TYPE build info
build_info{v="1"} 1
# EOF
`;
  await using t = await startScrape({
    envoy: `${ENVOY}# TYPE envoy_plain counter\nenvoy_plain 4\n`,
    applications: [openMetrics(app)],
  });
  const { headers, text } = await t.scrape({ accept: "application/openmetrics-text;version=1.0.0,text/plain;q=0.5" });
  expect(headers["content-type"]).toBe(OPENMETRICS);
  const { families, series } = parseStrictly(text, "openmetrics");
  expect(families.get("envoy_requests")).toBe("counter");
  expect(families.get("envoy_plain")).toBe("unknown");
  expect(series.get("envoy_plain")).toBe("4");
  expect(families.get("jobs")).toBe("counter");
  expect(text).toContain("# UNIT wait_seconds seconds\n");
  expect(text).not.toContain("# UNIT odd");
  expect(text).toContain('jobs_total{a="b"} 1 1700000000.5 # {trace_id="x"} 0.5 1700000000\n');
});

test("applications that disagree about the format are answered in text, without EOF", async () => {
  const app = '# TYPE jobs counter\njobs_total{a="b"} 1 1700000000.5 # {t="x"} 0.5\njobs_created{a="b"} 3\n# EOF\n';
  await using t = await startScrape({ applications: [openMetrics(app), "plain 1\n"] });
  const { headers, text } = await t.scrape();
  expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  const { families } = parseStrictly(text, "text");
  await expectPromtoolAccepts(text);
  expect(families.get("jobs_total")).toBe("counter");
  expect(text).toContain('jobs_total{a="b"} 1 1700000000500\n');
  expect(text).not.toContain("EOF");
});

test.each([
  { bodies: ["a 1\n# EOF\n", "b 1\n# EOF\r\n"], eofs: 1 },
  { bodies: ["a 1\n# EOF", "b 1"], eofs: 1 },
])("of several OpenMetrics applications one EOF is left: $bodies", async ({ bodies, eofs }) => {
  await using t = await startScrape({ applications: bodies.map((body) => openMetrics(body)) });
  const { text } = await t.scrape();
  parseStrictly(text, "openmetrics");
  expect(text.split("# EOF").length - 1).toBe(eofs);
});

test("the first application fails, the second speaks OpenMetrics: so does the answer", async () => {
  const refuse = (_request: unknown, response: import("node:http").ServerResponse) =>
    void response.writeHead(500).end();
  await using t = await startScrape({ applications: [refuse, openMetrics("a 1\n# EOF\n")] });
  const { text } = await t.scrape();
  expect(parseStrictly(text, "openmetrics").series.get("a")).toBe("1");
  expect(t.own('istio_agent_scrape_failures_total{type="application"}')).toBe("1");
  expect(t.log.texts().join("\n")).toMatch(
    /scrape target "\d+":"\/metrics": scrape failed: error scraping http:\/\/localhost:\d+\/metrics, status code: 500/,
  );
});

test.each([
  { envoy: ENVOY, applications: [undefined], want: ["envoy_live"] },
  { envoy: undefined, applications: [APP], want: ["app_jobs"] },
  { envoy: undefined, applications: [undefined, undefined], want: [] },
])("sources that refuse are counted and the others are there: $want", async ({ envoy, applications, want }) => {
  const refuse = (_request: unknown, response: import("node:http").ServerResponse) =>
    void response.writeHead(503).end();
  await using t = await startScrape({ envoy: envoy ?? refuse, applications: applications.map((app) => app ?? refuse) });
  const { status, text } = await t.scrape();
  expect(status).toBe(200);
  const { families } = parseStrictly(text, "text");
  for (const family of want) expect(families.has(family)).toBe(true);
  const failed = applications.filter((app) => app === undefined).length;
  expect(t.own('istio_agent_scrape_failures_total{type="application"}')).toBe(
    failed === 0 ? undefined : String(failed),
  );
  expect(t.own('istio_agent_scrape_failures_total{type="envoy"}')).toBe(envoy === undefined ? "1" : undefined);
  if (failed > 0) expect(text).toContain(`istio_agent_scrape_failures_total{type="application"} ${failed}\n`);
});

test("gzip is understood from the application and spoken to the scraper", async () => {
  await using t = await startScrape({
    envoy: ENVOY,
    applications: [
      (request, response) => {
        expect(request.headers["accept-encoding"]).toBe("gzip");
        response.setHeader("Content-Encoding", "gzip");
        response.end(gzipSync(APP));
      },
    ],
  });
  const { headers, body } = await t.scrape({ "accept-encoding": "gzip" });
  expect(headers["content-encoding"]).toBe("gzip");
  const text = gunzipSync(body).toString();
  expect(parseStrictly(text, "text").series.get('app_jobs{queue="a"}')).toBe("3");
  expect((await t.scrape({ "accept-encoding": "br, lz4" })).headers["content-encoding"]).toBeUndefined();
});

test("the scraper's name, time limit and query go on; its other headers do not", async () => {
  const seen: Record<string, unknown>[] = [];
  const record = (request: import("node:http").IncomingMessage, response: import("node:http").ServerResponse) => {
    seen.push({ url: request.url, ...request.headers });
    response.end("a 1\n");
  };
  await using t = await startScrape({ envoy: record, applications: [record] });
  await t.scrape(
    {
      "user-agent": "Prometheus/3",
      "x-prometheus-scrape-timeout-seconds": "7",
      authorization: "secret",
      accept: "*/*",
    },
    "/metrics?usedonly&filter=x",
  );
  expect(seen).toHaveLength(2);
  for (const headers of seen) {
    expect(headers).toMatchObject({
      "user-agent": "Prometheus/3",
      "x-prometheus-scrape-timeout-seconds": "7",
      accept: "text/plain; q=0.1; version=0.0.4",
    });
    expect(headers).not.toHaveProperty("authorization");
  }
  expect(seen.map(({ url }) => url).sort()).toEqual(["/metrics", "/stats/prometheus?usedonly&filter=x"]);
});

test("redirects of an application are followed, endless ones are a failure", async () => {
  let asked = 0;
  await using t = await startScrape({
    applications: [
      (request, response) => {
        if (request.url === "/there") response.end("found 1\n");
        else response.writeHead(302, { location: "/there" }).end();
      },
      (_request, response) => {
        asked++;
        response.writeHead(302, { location: "/again" }).end();
      },
    ],
  });
  const { text } = await t.scrape();
  expect(parseStrictly(text, "text").series.get("found")).toBe("1");
  expect(asked).toBe(10);
  expect(t.log.text()).toContain("stopped after 10 redirects");
  expect(t.own('istio_agent_scrape_failures_total{type="application"}')).toBe("1");
});
