import { describe, expect, test } from "vitest";
import { mergeAny, mergeMessages, parseMessage } from "./index.ts";

const CLUSTER = "envoy.config.cluster.v3.Cluster";
const ROUTE = "envoy.config.route.v3.Route";
const TYPE = "type.googleapis.com/";

describe("parsing", () => {
  test("members may be spelled as in the .proto files or as JSON spells them", () => {
    const canonical = { connectTimeout: "2s", lbPolicy: "RANDOM", http2ProtocolOptions: {} };
    expect(parseMessage(CLUSTER, { connect_timeout: "2s", lb_policy: "RANDOM", http2_protocol_options: {} })).toEqual(
      canonical,
    );
    expect(parseMessage(CLUSTER, canonical)).toEqual(canonical);
  });

  test("messages inside are read as well: in lists, in maps, in messages of any type", () => {
    const options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
    const written = {
      circuit_breakers: { thresholds: [{ max_connections: 5 }] },
      typed_extension_protocol_options: {
        my_key: { "@type": TYPE + options, explicit_http_config: { http2_protocol_options: {} } },
      },
    };
    expect(parseMessage(CLUSTER, written)).toEqual({
      circuitBreakers: { thresholds: [{ maxConnections: 5 }] },
      typedExtensionProtocolOptions: {
        my_key: { "@type": TYPE + options, explicitHttpConfig: { http2ProtocolOptions: {} } },
      },
    });
  });

  test.each([
    { written: "1.5s", read: "1.500s" },
    { written: "2.000s", read: "2s" },
    { written: "0.0000001s", read: "0.000000100s" },
  ])("a duration of $written is $read", ({ written, read }) => {
    expect(parseMessage(CLUSTER, { connectTimeout: written })).toEqual({ connectTimeout: read });
  });

  test("numbers may be text, members that are null are not there", () => {
    expect(parseMessage(CLUSTER, { per_connection_buffer_limit_bytes: "65536", name: null })).toEqual({
      perConnectionBufferLimitBytes: 65536,
    });
  });

  test.each([
    { value: { connect_timout: "2s" }, says: `${CLUSTER} has no member connect_timout` },
    {
      value: { connect_timeout: "2" },
      says: 'connect_timeout: expected a duration like "1.5s": not a proto duration: 2',
    },
    {
      value: { circuit_breakers: { thresholds: {} } },
      says: "circuit_breakers.thresholds: expected a list, found an object",
    },
    { value: { lb_policy: "BEST" }, says: /^lb_policy: unknown value "BEST"; allowed: ROUND_ROBIN, .*$/ },
    {
      value: { type: "EDS", cluster_type: {} },
      says: "only one of type, clusterType may be set, found type and clusterType",
    },
    {
      value: { name: "a", lbPolicy: "RANDOM", lb_policy: "RANDOM" },
      says: "lbPolicy: is set a second time, in its other spelling",
    },
    { value: [], says: "expected an object (cluster), found a list" },
    {
      value: { transport_socket: { name: "x", typed_config: { "@type": `${TYPE}a.b.C`, d: 1 } } },
      says: "transport_socket.typed_config: no message is known by the name a.b.C",
    },
    {
      value: { transport_socket: { typed_config: {} } },
      says: 'transport_socket.typed_config["@type"]: "@type" is missing',
    },
  ])("$value is refused: $says", ({ value, says }) => {
    expect(() => parseMessage(CLUSTER, value)).toThrow(says);
  });

  test("extensions that only users name are known", () => {
    const filter = "envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter";
    const buffer = { "@type": `${TYPE}envoy.extensions.filters.http.buffer.v3.Buffer`, maxRequestBytes: 1024 };
    expect(parseMessage(filter, { name: "b", typed_config: buffer })).toEqual({ name: "b", typedConfig: buffer });
    const limit = "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit";
    const struct = { "@type": `${TYPE}udpa.type.v1.TypedStruct`, typeUrl: TYPE + limit, value: { stat_prefix: "x" } };
    expect(parseMessage(filter, { typed_config: struct })).toEqual({ typedConfig: struct });
  });
});

describe("merging", () => {
  test("messages are merged member by member, everything else is replaced", () => {
    const base = { name: "a", connectTimeout: "10s", edsClusterConfig: { serviceName: "a" }, lbPolicy: "RANDOM" };
    const over = { connectTimeout: "2s", edsClusterConfig: { edsConfig: { ads: {} } }, respectDnsTtl: false };
    expect(mergeMessages(CLUSTER, base, over)).toEqual({
      name: "a",
      connectTimeout: "2s",
      edsClusterConfig: { serviceName: "a", edsConfig: { ads: {} } },
      lbPolicy: "RANDOM",
      respectDnsTtl: false,
    });
    expect(base.connectTimeout).toBe("10s");
  });

  test("lists follow each other, or the second takes the place of the first", () => {
    const base = { circuitBreakers: { thresholds: [{ maxRetries: 1 }] } };
    const over = { circuitBreakers: { thresholds: [{ maxRetries: 2 }] } };
    expect(mergeMessages(CLUSTER, base, over)).toEqual({
      circuitBreakers: { thresholds: [{ maxRetries: 1 }, { maxRetries: 2 }] },
    });
    expect(mergeMessages(CLUSTER, base, over, "replace-lists")).toEqual(over);
  });

  test("entries of a map are replaced as a whole", () => {
    const base = { typedPerFilterConfig: { a: { "@type": "x", one: 1 }, b: { "@type": "y" } } };
    const over = { typedPerFilterConfig: { a: { "@type": "x", two: 2 } } };
    expect(mergeMessages(ROUTE, base, over)).toEqual({
      typedPerFilterConfig: { a: { "@type": "x", two: 2 }, b: { "@type": "y" } },
    });
  });

  test("of members that exclude each other the new one stays", () => {
    const weighted = { route: { weightedClusters: { clusters: [{ name: "a", weight: 1 }] }, timeout: "1s" } };
    expect(mergeMessages(ROUTE, weighted, { route: { cluster: "b" } })).toEqual({
      route: { cluster: "b", timeout: "1s" },
    });
    expect(mergeMessages(ROUTE, weighted, { redirect: { pathRedirect: "/" } })).toEqual({
      redirect: { pathRedirect: "/" },
    });
  });

  test("messages of any type are merged when they are of one type", () => {
    const lua = `${TYPE}envoy.extensions.filters.http.lua.v3.Lua`;
    const base = { "@type": lua, defaultSourceCode: { inlineString: "a" } };
    expect(mergeAny(base, { "@type": lua, statPrefix: "s" })).toEqual({ ...base, statPrefix: "s" });
    expect(mergeAny(base, { "@type": `${TYPE}envoy.extensions.filters.http.router.v3.Router` })).toBeUndefined();
  });
});
