import { expect, test } from "vitest";
import { FamilyReader } from "../../protocol/prometheus/family-reader.ts";
import { withMeshNames } from "./mesh-names.ts";

const overflows: string[] = [];

function read(...pieces: readonly string[]): string {
  const written: string[] = [];
  const sink = withMeshNames(
    {
      begin: ({ name, type }) => written.push(`# TYPE ${name} ${type}\n`),
      samples: (bytes, start, end) => written.push(bytes.toString("latin1", start, end)),
    },
    (kind, lost) => overflows.push(`${kind} ${lost}`),
  );
  const reader = new FamilyReader(sink, { from: "text", to: "text", isTrusted: true });
  for (const piece of pieces) reader.push(Buffer.from(piece));
  reader.end(true);
  sink.end();
  return written.join("");
}

test("metrics of the mesh have their own names, Envoy's keep theirs", () => {
  const body = `# TYPE envoy_istio_requests_total counter
envoy_istio_requests_total{a="envoy_istio_x"} 1
envoy_istio_requests_total{a="b"} 2
# TYPE envoy_server_live gauge
envoy_server_live{} 1
`;
  expect(read(body)).toBe(`# TYPE istio_requests_total counter
istio_requests_total{a="envoy_istio_x"} 1
istio_requests_total{a="b"} 2
# TYPE envoy_server_live gauge
envoy_server_live{} 1
`);
  // However it is cut.
  for (let at = 1; at < body.length; at += 7) expect(read(body.slice(0, at), body.slice(at))).toBe(read(body));
});

test("joined labels are taken apart, in every line of a family", () => {
  const joined = "reporter=source response_code=200 response_flags=- grpc_response_status~- @source=a;b";
  const body = `# TYPE envoy_istio_request_bytes histogram
envoy_istio_request_bytes_bucket{labels="${joined}",le="0.5"} 0
envoy_istio_request_bytes_bucket{labels="${joined}",host="x,labels=\\"y\\"",le="+Inf"} 3
envoy_istio_request_bytes_count{labels="${joined.replace("200", "503")}"} 3
`;
  const labels = (code: number) =>
    `reporter="source",response_code="${code}",response_flags="-",grpc_response_status="",source_workload="a",source_workload_namespace="b",${[
      "app",
      "version",
      "canonical_service",
      "canonical_revision",
      "cluster",
    ]
      .map((name) => `source_${name}="unknown"`)
      .join()}`;
  expect(read(body)).toBe(`# TYPE istio_request_bytes histogram
istio_request_bytes_bucket{${labels(200)},le="0.5"} 0
istio_request_bytes_bucket{${labels(200)},host="x,labels=\\"y\\"",le="+Inf"} 3
istio_request_bytes_count{${labels(503)}} 3
`);
  for (let at = 1; at < body.length; at += 11) expect(read(body.slice(0, at), body.slice(at))).toBe(read(body));
});

test("messages are calls times what each of them had, added up", () => {
  const line = (messages: string, code: number, value: number) =>
    `envoy_istio_response_messages_total{labels="response_code=${code} @messages=${messages} @source=a"} ${value}\n`;
  const body = `# TYPE envoy_istio_response_messages_total counter
${line("1,1", 200, 5)}${line("3,12", 200, 2)}${line("1,7", 503, 1)}${line("-", 503, 4)}# TYPE up gauge
up{} 1
`;
  const shown = read(body).replaceAll(/,source_[^}]*/g, "");
  expect(shown).toBe(`# TYPE istio_response_messages_total counter
istio_response_messages_total{response_code="200"} 29
istio_response_messages_total{response_code="503"} 7
# TYPE up gauge
up{} 1
`);
  expect(read(body.replace("# TYPE up gauge\nup{} 1\n", ""))).toContain("} 29\n");
  for (let at = 1; at < body.length; at += 13) expect(read(body.slice(0, at), body.slice(at))).toBe(read(body));
});

test("series beyond the budget are reported, and Envoy's counters of them pass", () => {
  overflows.length = 0;
  const body = `# TYPE envoy_server_stats_overflow_counter counter
envoy_server_stats_overflow_counter{} 12
# TYPE envoy_server_stats_overflow_histogram counter
envoy_server_stats_overflow_histogram{} 0
`;
  expect(read(body)).toBe(body);
  expect(overflows).toEqual(["counter 12"]);
});
