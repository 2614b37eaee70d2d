import { describe, expect, test } from "vitest";
import {
  generatePatched,
  httpFilters,
  LUA,
  MANAGER,
  type Match,
  outboundHttp,
  patch,
  patched,
  subFilter,
  TYPE,
} from "../../../test/support/mesh-model/patched-mesh.ts";

describe("filters", () => {
  const insert = (operation: string, sub: string | undefined, context = "SIDECAR_OUTBOUND") =>
    patched(patch("HTTP_FILTER", operation, { context, ...(sub && { listener: subFilter(sub) }) }, LUA));
  const plain = httpFilters(outboundHttp(generatePatched([])));

  test.each<{ operation: string; sub?: string; gives: (names: typeof plain) => unknown }>([
    { operation: "INSERT_BEFORE", sub: "router", gives: (names) => [...names.slice(0, -1), "lua", "router"] },
    { operation: "INSERT_BEFORE", gives: (names) => ["lua", ...names] },
    { operation: "INSERT_FIRST", sub: "router", gives: (names) => ["lua", ...names] },
    {
      operation: "INSERT_AFTER",
      sub: "cors",
      gives: (names) => names.flatMap((name) => (name === "cors" ? [name, "lua"] : [name])),
    },
    { operation: "INSERT_AFTER", sub: "nobody", gives: (names) => names },
    { operation: "REPLACE", sub: "cors", gives: (names) => names.map((name) => (name === "cors" ? "lua" : name)) },
    { operation: "REMOVE", sub: "cors", gives: (names) => names.filter((name) => name !== "cors") },
    { operation: "REMOVE", gives: (names) => names },
  ])("$operation of an HTTP filter at $sub", ({ operation, sub, gives }) => {
    expect(httpFilters(outboundHttp(insert(operation, sub)))).toEqual(gives(plain));
  });

  test.each(["ADD", "INSERT_AFTER"])(
    "%s behind the router is refused: a proxy would refuse the listener",
    (operation) => {
      const made = insert(operation, operation === "ADD" ? undefined : "router");
      expect(httpFilters(outboundHttp(made))).toEqual(plain);
      expect(made.problems).toEqual([expect.stringContaining("envoy.filters.http.router must be the last filter")]);
    },
  );

  test.each(["echo.v3.Echo", "direct_response.v3.Config", "redis_proxy.v3.RedisProxy"])(
    "%s answers itself, and is refused before a filter that would never be reached",
    (type) => {
      const value = { name: "mine", typed_config: { "@type": `${TYPE}.filters.network.${type}` } };
      const before = patched(patch("NETWORK_FILTER", "INSERT_BEFORE", { context: "SIDECAR_OUTBOUND" }, value));
      expect(outboundHttp(before)?.filters).toHaveLength(1);
      expect(before.problems).toContainEqual(expect.stringContaining("mine must be the last filter"));
    },
  );

  test.each<{ listener: Match; ports: (number | undefined)[] }>([
    { listener: { portNumber: 80 }, ports: [80] },
    { listener: { portNumber: 81 }, ports: [] },
    { listener: { filterChain: { name: "virtualInbound-catchall-http" } }, ports: [undefined] },
    { listener: { filterChain: { destinationPort: 80 } }, ports: [80] },
    {
      listener: { filterChain: { transportProtocol: "raw_buffer", applicationProtocols: "http/1.1,h2c" } },
      ports: [undefined],
    },
    { listener: { filterChain: { sni: "a.b" } }, ports: [] },
    { listener: { name: "virtualInbound" }, ports: [undefined, 80] },
  ])("chains of the workload are found by $listener", ({ listener, ports }) => {
    const { listener: find } = patched(
      patch("HTTP_FILTER", "INSERT_FIRST", { context: "SIDECAR_INBOUND", listener }, LUA),
    );
    const chains = find("virtualInbound")?.filterChains ?? [];
    const found = chains
      .filter((chain) => httpFilters(chain)[0] === "lua")
      .map(({ filterChainMatch }) => filterChainMatch?.destinationPort);
    expect([...new Set(found)]).toEqual(ports);
  });

  test("settings are merged with those of the same type, and nothing else", () => {
    const router = (type: string) => ({
      typed_config: { "@type": `${TYPE}.filters.http.${type}`, suppress_envoy_headers: true },
    });
    const merge = (value: object) =>
      patched(patch("HTTP_FILTER", "MERGE", { context: "SIDECAR_OUTBOUND", listener: subFilter("router") }, value));
    const last = (made: ReturnType<typeof generatePatched>) => {
      const manager = outboundHttp(made)?.filters?.[0]?.typedConfig as { httpFilters?: { typedConfig?: object }[] };
      return manager?.httpFilters?.at(-1);
    };
    expect(last(merge(router("router.v3.Router")))).toMatchObject({ typedConfig: { suppressEnvoyHeaders: true } });
    const buffer = { typed_config: { "@type": `${TYPE}.filters.http.buffer.v3.Buffer`, max_request_bytes: 1 } };
    const wrong = merge(buffer);
    expect(last(wrong)).not.toMatchObject({ typedConfig: { maxRequestBytes: 1 } });
    expect(wrong.problems).toEqual([expect.stringContaining("has settings of type")]);
  });

  test("network filters and filters of listeners are put in, merged and taken out alike", () => {
    const rbac = { name: "rbac", typed_config: { "@type": `${TYPE}.filters.network.rbac.v3.RBAC`, stat_prefix: "x" } };
    const manager = {
      name: MANAGER,
      typed_config: {
        "@type": `${TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
        xff_num_trusted_hops: 2,
      },
    };
    const at = (name: string) => ({
      context: "SIDECAR_OUTBOUND",
      listener: { portNumber: 80, filterChain: { filter: { name } } },
    });
    const { listener } = patched(
      patch("NETWORK_FILTER", "INSERT_BEFORE", at(MANAGER), rbac),
      patch("NETWORK_FILTER", "MERGE", at(MANAGER), manager),
      patch("LISTENER_FILTER", "REMOVE", {
        context: "SIDECAR_OUTBOUND",
        listener: { listenerFilter: "envoy.filters.listener.http_inspector" },
      }),
      patch(
        "LISTENER_FILTER",
        "INSERT_FIRST",
        { context: "SIDECAR_OUTBOUND", listener: { portNumber: 80 } },
        { name: "first" },
      ),
      patch(
        "LISTENER_FILTER",
        "MERGE",
        { listener: { listenerFilter: "envoy.filters.listener.tls_inspector" } },
        {
          typed_config: {
            "@type": `${TYPE}.filters.listener.tls_inspector.v3.TlsInspector`,
            enable_ja3_fingerprinting: true,
          },
        },
      ),
    );
    const found = listener("0.0.0.0_80");
    expect(found?.filterChains?.[0]?.filters).toMatchObject([
      { name: "rbac" },
      { name: MANAGER, typedConfig: { xffNumTrustedHops: 2 } },
    ]);
    expect(found?.listenerFilters).toEqual([{ name: "first" }]);
    const inspector = listener("virtualInbound")?.listenerFilters?.find(({ name }) => name?.endsWith("tls_inspector"));
    expect(inspector).toMatchObject({ typedConfig: { enableJa3Fingerprinting: true } });
  });
});
