import { describe, expect, test } from "vitest";
import { makeCertificate } from "../../../test/support/certs/certificates.ts";
import { temporaryFolder } from "../../../test/support/files/temporary-folder.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { startHttpServer } from "../../../test/support/net/http-server.ts";
import {
  type OtlpReceiver,
  startOtlpGrpcReceiver,
  startOtlpReceiver,
} from "../../../test/support/telemetry/otlp-receiver.ts";
import { until } from "../../../test/support/wait/until.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { declareScrapeMetrics } from "../metrics.ts";
import type { OtlpProtocol } from "./exporter.ts";
import { type OtlpPushOptions, startOtlpPush } from "./start-otlp-push.ts";

const DOCUMENT = `# HELP istio_requests_total Requests.
# TYPE istio_requests_total counter
istio_requests_total{a="x \\"y\\" \\\\ \\n",b=""} 3
istio_requests_total{a="other"} 0
# TYPE up gauge
up -1.5
# TYPE broken gauge
broken NaN
# TYPE infinite gauge
infinite +Inf
# TYPE istio_request_bytes histogram
istio_request_bytes_bucket{a="1",le="1"} 2
istio_request_bytes_bucket{a="1",le="5"} 5
istio_request_bytes_bucket{a="1",le="+Inf"} 6
istio_request_bytes_sum{a="1"} 30.5
istio_request_bytes_count{a="1"} 6
istio_request_bytes_bucket{a="2",le="1"} 0
istio_request_bytes_bucket{a="2",le="5"} 0
istio_request_bytes_bucket{a="2",le="+Inf"} 0
istio_request_bytes_sum{a="2"} 0
istio_request_bytes_count{a="2"} 0
# TYPE seconds summary
seconds{quantile="0.5"} 2
seconds{quantile="0.99"} 9
seconds_sum 11
seconds_count 4
bare 7
`;

const serveDocument = (text = DOCUMENT) => startHttpServer((_request, response) => response.end(text));

interface Way {
  readonly protocol: OtlpProtocol;
  /** What of the collector's address is its endpoint. */
  readonly path: string;
  readonly receive: typeof startOtlpReceiver;
  readonly unavailable: number;
  readonly unauthenticated: number;
}
const OVER_HTTP: Way = {
  protocol: "http/protobuf",
  path: "/v1/metrics",
  receive: startOtlpReceiver,
  unavailable: 503,
  unauthenticated: 401,
};
const OVER_GRPC: Way = {
  protocol: "grpc",
  path: "",
  receive: startOtlpGrpcReceiver,
  unavailable: 14,
  unauthenticated: 16,
};

function pushOptions(way: Way, receiver: string, source: string, more: Partial<OtlpPushOptions> = {}) {
  const registry = new MetricRegistry();
  const log = recordLog("info");
  const options: OtlpPushOptions = {
    protocol: way.protocol,
    endpoint: `${receiver}${way.path}`,
    intervalMs: 20,
    timeoutMs: 20_000,
    headers: { "x-tenant": "a" },
    caFile: "",
    certFile: "",
    keyFile: "",
    resource: [["service.name", "web"]],
    source,
    metrics: declareScrapeMetrics(registry),
    log,
    ...more,
  };
  return { options, log, registry };
}

const untilReceived = (received: readonly unknown[], count = 1) =>
  until(async () => (received.length >= count ? undefined : `${received.length} exports`), 30_000);

test("every family arrives as what it is, with its labels and values", async () => {
  await using receiver = await startOtlpReceiver();
  await using source = await serveDocument();
  const before = Date.now();
  const { options } = pushOptions(OVER_HTTP, receiver.url, source.url);
  {
    await using _push = startOtlpPush(options);
    await untilReceived(receiver.exports);
  }
  const [first] = receiver.exports;
  expect(first).toMatchObject({ path: "/v1/metrics", resource: { "service.name": "web" } });
  expect(first?.headers).toMatchObject({ "content-type": "application/x-protobuf", "x-tenant": "a" });
  const metric = (name: string) => first?.metrics.find((each) => each.name === name);
  const counted = { kind: "sum", isMonotonic: true, isCumulative: true };
  expect(metric("istio_requests_total")).toMatchObject({
    ...counted,
    description: "Requests.",
    points: [
      { attributes: { a: 'x "y" \\ \n', b: "" }, value: 3 },
      { attributes: { a: "other" }, value: 0 },
    ],
  });
  expect(metric("up")).toMatchObject({ kind: "gauge", points: [{ attributes: {}, value: -1.5 }] });
  expect(metric("infinite")?.points[0]?.value).toBe(Number.POSITIVE_INFINITY);
  // No value is no point, and a metric without points is not sent.
  expect(metric("broken")).toBeUndefined();
  expect(metric("istio_request_bytes")).toMatchObject({
    kind: "histogram",
    isCumulative: true,
    points: [
      { attributes: { a: "1" }, count: 6, sum: 30.5, bounds: [1, 5], counts: [2, 3, 1] },
      { attributes: { a: "2" }, count: 0, sum: 0, bounds: [1, 5], counts: [0, 0, 0] },
    ],
  });
  expect(metric("seconds")).toMatchObject({
    kind: "summary",
    points: [
      {
        count: 4,
        sum: 11,
        quantiles: [
          [0.5, 2],
          [0.99, 9],
        ],
      },
    ],
  });
  expect(metric("bare")).toMatchObject({ kind: "gauge", points: [{ value: 7 }] });
  const [{ startTime = 0, time = 0 } = {}] = metric("up")?.points ?? [];
  expect(startTime).toBeGreaterThanOrEqual(before);
  expect(time).toBeGreaterThanOrEqual(startTime);
  expect(time).toBeLessThanOrEqual(Date.now());
});

test("a large document goes out in pieces, each point once", async () => {
  const count = 20_000;
  const lines = Array.from({ length: count }, (_, at) => `many{series="${at}",filler="${"x".repeat(100)}"} ${at}\n`);
  await using receiver = await startOtlpReceiver();
  await using source = await serveDocument(`# TYPE many counter\n${lines.join("")}`);
  const { options } = pushOptions(OVER_HTTP, receiver.url, source.url);
  const points = () => receiver.exports.flatMap(({ metrics }) => metrics.flatMap((metric) => metric.points));
  {
    await using _push = startOtlpPush(options);
    await until(async () => (points().length >= count ? undefined : `${points().length} points`), 60_000);
  }
  const first = points().slice(0, count);
  expect(first.map(({ attributes }) => Number(attributes.series))).toEqual(lines.map((_, at) => at));
  expect(receiver.exports.length).toBeGreaterThan(3);
  expect(Math.max(...receiver.exports.map(({ bytes }) => bytes))).toBeLessThan(1024 * 1024);
});

describe.each([OVER_HTTP, OVER_GRPC])("over $protocol", (way) => {
  test("metrics, resource and headers arrive", async () => {
    await using receiver = await way.receive();
    await using source = await serveDocument();
    const { options, registry } = pushOptions(way, receiver.url, source.url);
    {
      await using _push = startOtlpPush(options);
      await untilReceived(receiver.exports, 2);
    }
    const [first] = receiver.exports;
    expect(first).toMatchObject({ resource: { "service.name": "web" }, headers: { "x-tenant": "a" } });
    expect(first?.metrics.map(({ name }) => name)).toContain("istio_request_bytes");
    expect(registry.render()).toMatch(/istio_agent_otlp_exports_total\{result="ok"\} [1-9]/);
    expect(registry.render()).not.toContain('result="failed"');
  });

  test("a collector that is overloaded costs one line and waits that grow; when it is back, another line says so", async () => {
    await using receiver = await way.receive();
    await using source = await serveDocument("# TYPE up gauge\nup 1\n");
    const { options, log, registry } = pushOptions(way, receiver.url, source.url);
    receiver.answer(way.unavailable);
    await using _push = startOtlpPush(options);
    await untilReceived(receiver.exports, 4);
    expect(log.texts()).toHaveLength(1);
    expect(log.texts()[0]).toMatch(
      /^warn failed to export metrics to .*(answers 503|UNAVAILABLE: as the test says); it is tried again$/,
    );
    receiver.answer(way === OVER_HTTP ? 200 : 0);
    await until(async () => (log.texts().length === 2 ? undefined : log.text()), 30_000);
    expect(log.texts()[1]).toMatch(/^info metrics go to .* again, after \d+ failed exports$/);
    expect(registry.render()).toMatch(/istio_agent_otlp_exports_total\{result="failed"\} ([4-9]|\d{2,})\n/);
  });

  test("a collector that refuses is not asked again before the next export is due", async () => {
    await using receiver = await way.receive();
    await using source = await serveDocument("# TYPE up gauge\nup 1\n");
    const { options, log } = pushOptions(way, receiver.url, source.url);
    receiver.answer(way.unauthenticated);
    await using _push = startOtlpPush(options);
    await untilReceived(receiver.exports, 2);
    expect(log.texts()).toHaveLength(1);
    expect(log.texts()[0]).toMatch(
      /(answers 401|UNAUTHENTICATED: as the test says); it is not retried before the next export is due$/,
    );
  });

  test("a collector that is away is said with its address", async () => {
    const { url } = await withoutServer(way);
    await using source = await serveDocument("# TYPE up gauge\nup 1\n");
    const { options, log } = pushOptions(way, url, source.url);
    await using _push = startOtlpPush(options);
    await until(async () => (log.texts().length > 0 ? undefined : "no line"));
    expect(log.texts()[0]).toMatch(
      /failed to export metrics to http:\/\/localhost:\d+.*refused.*; it is tried again$/i,
    );
  });

  test.each([
    { how: "never" as const, timeoutMs: 1000, says: /no answer within 1000 ms; it is tried again/ },
    {
      timeoutMs: 30_000,
      how: { rejected: 1, why: "too many series" },
      says: /the collector took only a part: too many series; it is not retried/,
    },
  ])("a collector that answers $how is a failed export", async ({ how, timeoutMs, says }) => {
    await using receiver = await way.receive();
    await using source = await serveDocument("# TYPE up gauge\nup 1\n");
    const { options, log } = pushOptions(way, receiver.url, source.url, { timeoutMs });
    receiver.answer(how);
    await using _push = startOtlpPush(options);
    await untilReceived(receiver.exports, 2);
    await until(async () => (log.texts().length > 0 ? undefined : "no line"));
    expect(log.texts()[0]).toMatch(says);
    expect(log.texts()).toHaveLength(1);
  });

  test("stopping does not wait for a collector that never answers", async () => {
    await using receiver = await way.receive();
    await using source = await serveDocument("# TYPE up gauge\nup 1\n");
    const { options, log } = pushOptions(way, receiver.url, source.url, { timeoutMs: 600_000 });
    receiver.answer("never");
    const push = startOtlpPush(options);
    await untilReceived(receiver.exports);
    await push.stop();
    expect(log.texts()).toEqual([]);
  });

  test("a collector behind TLS is asked for its certificate, and a root that is renewed counts at the next export", async () => {
    const authority = await makeCertificate({ organization: "root" });
    const { pem: cert, keyPem: key } = await makeCertificate({ by: authority, isCa: false, hosts: ["localhost"] });
    await using receiver = await way.receive({ cert, key });
    await using source = await serveDocument("# TYPE up gauge\nup 1\n");
    using folder = temporaryFolder();
    const caFile = folder.write("root.pem", (await makeCertificate({ organization: "other" })).pem);
    const { options, log } = pushOptions(way, receiver.url, source.url, { caFile });
    await using _push = startOtlpPush(options);
    await until(async () => (log.texts().length > 0 ? undefined : "no failure"), 30_000);
    expect(receiver.exports).toEqual([]);
    folder.write("root.pem", authority.pem);
    await untilReceived(receiver.exports);
  });
});

/** An address at which a collector was. */
async function withoutServer(way: Way): Promise<Pick<OtlpReceiver, "url">> {
  await using receiver = await way.receive();
  return { url: receiver.url };
}

test("points that a collector refuses do not keep the rest of a large document from it", async () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `many{series="${at}",filler="${"x".repeat(100)}"} ${at}\n`);
  await using receiver = await startOtlpReceiver();
  await using source = await serveDocument(`# TYPE many counter\n${lines.join("")}`);
  const { options } = pushOptions(OVER_HTTP, receiver.url, source.url);
  receiver.answer({ rejected: 1, why: "too old" });
  await using _push = startOtlpPush(options);
  const last = () => receiver.exports.some(({ metrics }) => metrics.some((each) => each.points.some(isLast)));
  const isLast = ({ attributes }: { readonly attributes: Readonly<Record<string, string>> }) =>
    attributes.series === "19999";
  await until(async () => (last() ? undefined : `${receiver.exports.length} exports`), 60_000);
});
