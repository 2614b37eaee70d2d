import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WireError } from "../wire/wire-reader.ts";
import { CodecError, constantMessage, decodeMessage, encodeAny, encodeMessage, pack } from "./index.ts";

const CLUSTER = "envoy.config.cluster.v3.Cluster";

describe("encodeMessage and decodeMessage", () => {
  test("a cluster comes back as it went in", () => {
    const cluster = {
      name: "outbound|80||web",
      type: "EDS",
      connectTimeout: "10s",
      lbPolicy: "LEAST_REQUEST",
      edsClusterConfig: {
        serviceName: "web",
        edsConfig: { ads: {}, initialFetchTimeout: "0s", resourceApiVersion: "V3" },
      },
      circuitBreakers: {
        thresholds: [{ maxConnections: 4294967295, retryBudget: { budgetPercent: { value: 12.5 } } }],
      },
      typedExtensionProtocolOptions: {
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": pack(
          "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
          { explicitHttpConfig: { http2ProtocolOptions: { maxConcurrentStreams: 7 } } },
        ),
      },
      metadata: { filterMetadata: { istio: { subset: "v1", list: [1, true, null, { deep: "yes" }] } } },
    } as const;
    expect(decodeMessage(CLUSTER, encodeMessage(CLUSTER, cluster))).toEqual(cluster);
  });

  test("a constant is written as any other message is, in every message that has it", () => {
    const socket = { name: "raw", typedConfig: pack("envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer", {}) };
    const constant = constantMessage({ ...socket });
    const match = { match: { mode: "\u00e9" }, name: "a" };
    for (const of of [
      { transportSocket: constant },
      { transportSocketMatches: [{ ...match, transportSocket: constant }] },
    ])
      for (const name of ["a", "b"])
        expect(encodeMessage(CLUSTER, { name, ...of })).toEqual(
          encodeMessage(CLUSTER, JSON.parse(JSON.stringify({ name, ...of }))),
        );
    // Not a cluster: what was written for one kind of message is not taken for another.
    expect(() => encodeMessage("envoy.config.listener.v3.Listener", { address: constant } as object)).toThrow(
      CodecError,
    );
  });

  test.each([
    ["zero of a plain member", { name: "" }, {}],
    ["the first name of an enum", { type: "STATIC", lbPolicy: "ROUND_ROBIN" }, { type: "STATIC" }],
    ["an undefined member", { name: undefined }, {}],
    ["an empty list", { loadAssignment: { endpoints: [] } }, { loadAssignment: {} }],
  ] as const)("%s is not sent", (_what, value, expected) => {
    expect(decodeMessage(CLUSTER, encodeMessage(CLUSTER, value))).toEqual(expected);
  });

  test("zero is sent where its presence means something", () => {
    const value = {
      outlierDetection: { consecutive5xx: 0 },
      perConnectionBufferLimitBytes: 0,
      // As every other 64-bit integer, text.
      ringHashLbConfig: { minimumRingSize: "0" },
    };
    expect(decodeMessage(CLUSTER, encodeMessage(CLUSTER, value))).toEqual(value);
    const match = { match: { prefix: "" }, route: { cluster: "" } };
    expect(decodeMessage("envoy.config.route.v3.Route", encodeMessage("envoy.config.route.v3.Route", match))).toEqual(
      match,
    );
  });

  test("members of nested messages longer than 127 bytes and 16 kB keep their length", () => {
    for (const length of [126, 127, 128, 16_383, 16_384, 3_000_000]) {
      const value = { loadAssignment: { clusterName: "x".repeat(length) } };
      expect(decodeMessage(CLUSTER, encodeMessage(CLUSTER, value))).toEqual(value);
    }
  });

  test("equal maps have equal bytes, regardless of the order of their keys", () => {
    const of = (filterMetadata: Record<string, object>) =>
      encodeMessage(CLUSTER, { metadata: { filterMetadata: filterMetadata as never } });
    expect(of({ a: {}, b: {} })).toEqual(of({ b: {}, a: {} }));
  });

  test.each([
    ["0s", "0s"],
    ["0.5s", "0.500s"],
    ["1.000001s", "1.000001s"],
    ["-3.25s", "-3.250s"],
    ["315576000000s", "315576000000s"],
  ])("the duration %s reads back as %s", (text, expected) => {
    expect(decodeMessage(CLUSTER, encodeMessage(CLUSTER, { connectTimeout: text }))).toEqual({
      connectTimeout: expected,
    });
  });

  test("any text, number and bytes survive", () => {
    const route = "envoy.config.route.v3.Route";
    const texts = fc.string({ unit: "grapheme", minLength: 1 });
    fc.assert(
      fc.property(
        texts,
        fc.integer({ min: 1, max: 4294967295 }),
        fc.uint8Array({ minLength: 1 }),
        (name, status, bytes) => {
          const inlineBytes = Buffer.from(bytes).toString("base64");
          const value = { name, directResponse: { status, body: { inlineBytes } } };
          expect(decodeMessage(route, encodeMessage(route, value))).toEqual(value);
        },
      ),
    );
  });

  test.each([
    ["a member that does not exist", { nam: "x" }, /Cluster has no member nam/],
    ["a nested one", { loadAssignment: { endpoint: [] } }, /^loadAssignment: .*no member endpoint/],
    ["a number as text", { connectTimeout: 10 }, /connectTimeout: expected a duration/],
    ["an unknown enum name", { type: "EDSS" }, /type: expected one of STATIC, .*EDSS/],
    ["a message that is a list", { loadAssignment: [] }, /loadAssignment: expected an object/],
    ["a negative uint32", { perConnectionBufferLimitBytes: -1 }, /0 to 4294967295, found -1/],
    ["an unknown type in an Any", { transportSocket: { typedConfig: { "@type": "x/y.Z" } } }, /by the name y\.Z/],
  ])("%s is refused and named", (_what, value, message) => {
    expect(() => encodeMessage(CLUSTER, value as never)).toThrow(message);
    expect(() => encodeMessage(CLUSTER, value as never)).toThrow(CodecError);
  });

  test("random bytes decode or fail cleanly", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodeMessage("envoy.config.listener.v3.Listener", Buffer.from(bytes));
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(WireError);
        }
      }),
    );
  });

  test("encodeAny names its type", () => {
    const bytes = encodeAny(CLUSTER, { name: "a" });
    expect(bytes.toString("latin1")).toContain("type.googleapis.com/envoy.config.cluster.v3.Cluster");
  });
});
