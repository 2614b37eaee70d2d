import { describe, expect, test } from "vitest";
import type { InputOverrides } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { sidecarInputs } from "../../../test/support/bootstrap/bootstrap-inputs.ts";
import { bootstrapValues } from "./bootstrap-values.ts";
import { buildNodeDescriptor } from "./node-descriptor.ts";

const settings = (overrides: InputOverrides) => {
  const inputs = sidecarInputs(overrides);
  const { stats, warnings } = bootstrapValues(inputs, buildNodeDescriptor(inputs));
  return { ...stats, warnings };
};
const annotated = (annotations: Record<string, string>, rest: InputOverrides = {}) =>
  settings({
    ...rest,
    podAnnotations: Object.entries(annotations)
      .map(([name, value]) => `sidecar.istio.io/${name}=${JSON.stringify(value)}\n`)
      .join(""),
  });

describe("inclusion lists", () => {
  const proxyConfig = {
    proxyStatsMatcher: { inclusionPrefixes: ["config"], inclusionSuffixes: ["s"], inclusionRegexps: ["r.*"] },
  };

  test("ProxyConfig's entries come before the required ones", () => {
    const { prefixes, suffixes, regexes } = settings({ proxyConfig });
    expect(prefixes).toEqual(["config", "cluster_manager", "listener_manager", "server", "cluster.xds-grpc", "wasm"]);
    expect(suffixes).toEqual(["s", "rbac.allowed", "rbac.denied", "shadow_allowed", "shadow_denied"]);
    expect(regexes).toEqual(["r.*", "vhost\\..*\\.route\\..*"]);
  });

  test("an annotation replaces ProxyConfig's list; empty entries are dropped", () => {
    expect(annotated({ statsInclusionPrefixes: "a,,b" }, { proxyConfig }).prefixes.slice(0, 3)).toEqual([
      "a",
      "b",
      "cluster_manager",
    ]);
  });

  test("{pod_ip} is repeated per distinct address", () => {
    const { prefixes } = annotated(
      { statsInclusionPrefixes: "x.{pod_ip}.{pod_ip}" },
      { nodeIps: ["1.1.1.1", "2.2.2.2", "1.1.1.1"] },
    );
    expect(prefixes.slice(0, 2)).toEqual(["x.1.1.1.1.1.1.1.1", "x.2.2.2.2.2.2.2.2"]);
  });

  test("exit on zero connections needs the connection gauge", () => {
    expect(settings({ agent: { exitOnZeroActiveConnections: true } }).suffixes.at(-1)).toBe("downstream_cx_active");
  });
});

test("extra tags of ProxyConfig and annotation are joined without duplicates or empties", () => {
  expect(annotated({ extraStatTags: "b,,c,a" }, { proxyConfig: { extraStatTags: ["a", "b", ""] } }).extraTags).toEqual([
    "a",
    "b",
    "c",
  ]);
});

describe("histogram buckets", () => {
  test("sorted by prefix", () => {
    expect(annotated({ statsHistogramBuckets: '{"z":[1],"a":[1,2.5]}' }).histogramBuckets).toEqual([
      { prefix: "a", buckets: [1, 2.5] },
      { prefix: "z", buckets: [1] },
    ]);
  });

  test.each([
    ["{", "unexpected end of JSON input"],
    ["bad", "invalid character 'b' looking for beginning of value"],
    ["[1]", "json: cannot unmarshal array into Go value of type map[string][]float64"],
    ['{"a":true}', "json: cannot unmarshal bool into Go value of type []float64"],
    ['{"a":1}', "json: cannot unmarshal number into Go value of type []float64"],
    ['{"a":[1,"x"]}', "json: cannot unmarshal string into Go value of type float64"],
    ['{"a":[1e400]}', "json: cannot unmarshal number into Go value of type float64"],
  ])("%s is a warning", (text, reason) => {
    const { histogramBuckets, warnings } = annotated({ statsHistogramBuckets: text });
    expect(histogramBuckets).toEqual([]);
    expect(warnings).toEqual([`Failed to unmarshal histogram buckets ${text}: ${reason}`]);
  });

  test.each([
    ["null", []],
    ["{}", []],
    [
      '{"a":null,"b":[null,2]}',
      [
        { prefix: "a", buckets: [] },
        { prefix: "b", buckets: [0, 2] },
      ],
    ],
  ])("%s is none, without a warning", (text, buckets) => {
    const { histogramBuckets, warnings } = annotated({ statsHistogramBuckets: text });
    expect([histogramBuckets, warnings]).toEqual([buckets, []]);
  });
});

describe("flush and eviction intervals", () => {
  const MULTIPLE = "StatsEvictionInterval must be a multiple of the StatsFlushInterval";
  test.each([
    { flush: "", eviction: "10s", written: [undefined, "10s"], warnings: [] },
    { flush: "", eviction: "11s", written: [undefined, undefined], warnings: [MULTIPLE] },
    { flush: "10s", eviction: "20s", written: ["10s", "20s"], warnings: [] },
    { flush: "1m30s", eviction: "3m", written: ["90s", "180s"], warnings: [] },
    { flush: "500ms", eviction: "1500ms", written: ["0.500s", "1.500s"], warnings: [] },
    { flush: "", eviction: "0s", written: [undefined, undefined], warnings: [MULTIPLE] },
    {
      flush: "0s",
      eviction: "10s",
      written: [undefined, "10s"],
      warnings: ["stats flush interval 0s must be at least 1ms and below 300s; ignored"],
    },
    {
      flush: "x",
      eviction: "y",
      written: [undefined, undefined],
      warnings: [
        'Failed to parse stats flush interval x: time: invalid duration "x"',
        'Failed to parse stats eviction interval y: time: invalid duration "y"',
      ],
    },
  ])("flush '$flush' and eviction '$eviction'", ({ flush, eviction, written, warnings }) => {
    const got = annotated({ statsFlushInterval: flush, statsEvictionInterval: eviction });
    expect([got.flushInterval, got.evictionInterval]).toEqual(written);
    expect(got.warnings).toEqual(warnings);
  });
});
