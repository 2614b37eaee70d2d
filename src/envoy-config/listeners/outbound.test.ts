import { describe, expect, test } from "vitest";
import { entry, NONE, outbound } from "../../../test/support/discovery/listeners.ts";
import type { TestObject } from "../../../test/support/mesh-model/test-objects.ts";

const VIRTUAL = "virtualOutbound";
const VIP = { addresses: ["10.96.0.1"] };
const sidecar = (spec: TestObject["spec"]): TestObject => ({ kind: "Sidecar", name: "own", spec });

describe("where a service's listener is", () => {
  test.each([
    { what: "HTTP", ports: "80/HTTP", given: VIP, names: ["0.0.0.0_80"] },
    { what: "HTTP without address", ports: "80/HTTP", given: {}, names: ["0.0.0.0_80"] },
    { what: "gRPC", ports: "80/GRPC", given: VIP, names: ["0.0.0.0_80"] },
    { what: "TCP", ports: "90/TCP", given: VIP, names: ["10.96.0.1_90"] },
    { what: "TCP without address", ports: "90/TCP", given: {}, names: ["0.0.0.0_90"] },
    { what: "TLS", ports: "443/TLS", given: VIP, names: ["10.96.0.1_443"] },
    { what: "TLS without address", ports: "443/TLS", given: {}, names: ["0.0.0.0_443"] },
    { what: "sniffed", ports: "91/", given: VIP, names: ["10.96.0.1_91"] },
    { what: "sniffed without address", ports: "91/", given: {}, names: ["0.0.0.0_91"] },
    { what: "UDP", ports: "53/UDP", given: VIP, names: [] },
    {
      what: "TCP with several addresses",
      ports: "90/TCP",
      given: { addresses: ["10.96.0.1", "10.96.0.2", "10.97.0.0/16"] },
      names: ["10.96.0.1_90", "10.96.0.2_90", "0.0.0.0_90"],
    },
    {
      what: "TCP at a range of one address",
      ports: "90/TCP",
      given: { addresses: ["10.96.0.7/32"] },
      names: ["10.96.0.7_90"],
    },
    {
      what: "TCP at an address of another family",
      ports: "90/TCP",
      given: { addresses: ["2001:db8::1"] },
      names: [],
    },
  ])("$what: $names", ({ ports, given, names }) => {
    expect(outbound([entry("a", ports, given)]).names).toEqual([...names, VIRTUAL]);
  });

  test("headless: one for each endpoint of the port, each once", () => {
    const store = { resolution: "NONE", workloadSelector: { labels: { app: "store" } } } as const;
    const workloads = ["10.10.3.1", "10.10.3.2", "db.example"].map((address, index) => ({
      kind: "WorkloadEntry",
      name: `store-${index}`,
      spec: { address, labels: { app: "store" } },
    }));
    const { names, call } = outbound([entry("a", "6000/TCP 8080/HTTP 7000/", store), ...workloads]);
    expect(names).toEqual(
      expect.arrayContaining(["10.10.3.1_6000", "10.10.3.2_6000", "0.0.0.0_8080", "10.10.3.1_7000", "10.10.3.2_7000"]),
    );
    expect(names).toHaveLength(6);
    expect(call("10.10.3.2_6000")).toBe("tcp outbound|6000||a.example");
    expect(call("10.10.3.2_7000", { speaks: "http" })).toBe("http a.example:7000");
  });

  test("headless without endpoints yet: none; never with any: every address", () => {
    const chosen = { resolution: "NONE", workloadSelector: { labels: { app: "store" } } } as const;
    expect(outbound([entry("a", "6000/TCP", chosen)]).names).toEqual([VIRTUAL]);
    const { call } = outbound([entry("a", "6000/TCP", { resolution: "NONE" })]);
    expect(call("0.0.0.0_6000")).toBe("tcp outbound|6000||a.example");
  });

  test("an address from the pool, for proxies whose agent answers DNS", () => {
    const service = entry("a", "90/TCP", { resolution: "DNS" });
    const node = { metadata: { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true" } };
    expect(outbound([service], { node }).names[0]).toMatch(/^240\.240\.\d+\.\d+_90$/);
    expect(outbound([service]).names[0]).toBe("0.0.0.0_90");
  });

  test.each([
    { addresses: "10.10.0.11", places: ["0.0.0.0"], vips: ["10.96.0.1_90"] },
    { addresses: "2001:db8::11", places: ["::"], vips: ["2001:db8::1_90"] },
    { addresses: "10.10.0.11,2001:db8::11", places: ["0.0.0.0", "::"], vips: ["10.96.0.1_90", "2001:db8::1_90"] },
  ])("a proxy with $addresses has shared listeners on $places", ({ addresses, places, vips }) => {
    const service = entry("a", "80/HTTP 90/TCP", { addresses: ["10.96.0.1", "2001:db8::1"] });
    const { listeners, names } = outbound([service], { node: { metadata: { INSTANCE_IPS: addresses } } });
    expect(names).toEqual([`${places[0]}_80`, ...vips, VIRTUAL]);
    for (const { address, additionalAddresses = [] } of [listeners.at(0) ?? {}, listeners.at(-1) ?? {}]) {
      const all = [address, ...additionalAddresses.map((more) => more.address)];
      expect(all.map((place) => place?.socketAddress?.address)).toEqual(places);
    }
  });
});

describe("how calls are understood", () => {
  test("HTTP is recognised, and the rest let through", () => {
    const { call, find } = outbound([entry("a", "80/HTTP", VIP)]);
    expect(find("0.0.0.0_80")).toMatchObject({
      bindToPort: false,
      trafficDirection: "OUTBOUND",
      listenerFiltersTimeout: "1s",
      continueOnListenerFiltersTimeout: true,
    });
    expect(call("0.0.0.0_80", { speaks: "http" })).toBe("http 80");
    expect(call("0.0.0.0_80", { speaks: "tls" })).toBe("tcp PassthroughCluster");
    expect(call("0.0.0.0_80")).toBe("tcp PassthroughCluster");
  });

  test("a plain TCP listener looks at nothing", () => {
    const { find } = outbound([entry("a", "90/TCP", VIP)]);
    expect(find("10.96.0.1_90")).not.toHaveProperty("listenerFilters");
    expect(find("10.96.0.1_90")).not.toHaveProperty("defaultFilterChain");
  });

  test("a sniffed port has its own routes at its own address, and shared ones elsewhere", () => {
    const { call } = outbound([entry("a", "91/", VIP), entry("b", "92/")]);
    expect(call("10.96.0.1_91", { speaks: "http" })).toBe("http a.example:91");
    expect(call("10.96.0.1_91")).toBe("tcp outbound|91||a.example");
    expect(call("0.0.0.0_92", { speaks: "http" })).toBe("http 92");
    expect(call("0.0.0.0_92", { speaks: "nothing" })).toBe("tcp outbound|92||b.example");
  });

  test("TLS of a host with an address in a second object alone goes there by that address and by every other", () => {
    const further = { ...entry("a", "443/TLS", { created: 2, addresses: ["10.50.0.1"] }), name: "second" };
    const { call } = outbound([entry("a", "443/TLS", { created: 1 }), further]);
    for (const listener of ["10.50.0.1_443", "0.0.0.0_443"]) {
      expect(call(listener, { speaks: "tls", sni: "a.example" })).toBe("tcp outbound|443||a.example");
    }
  });

  test("TLS services without address are distinguished by server name", () => {
    const { call, conflicts } = outbound([
      entry("a", "443/TLS"),
      entry("b", "443/HTTPS"),
      entry("*.c.example", "443/TLS", { resolution: "NONE" }),
    ]);
    expect(call("0.0.0.0_443", { speaks: "tls", sni: "b.example" })).toBe("tcp outbound|443||b.example");
    expect(call("0.0.0.0_443", { speaks: "tls", sni: "x.c.example" })).toBe("tcp outbound|443||*.c.example");
    expect(call("0.0.0.0_443", { speaks: "tls", sni: "other.example" })).toBe("tcp PassthroughCluster");
    expect(conflicts).toEqual([]);
  });

  test.each([
    ["80/HTTP_PROXY", "80/HTTP"],
    ["80/HTTP", "80/HTTP_PROXY"],
  ])("where one of several services is a proxy for its clients, nothing but HTTP comes: %s, %s", (one, other) => {
    const { call, find } = outbound([entry("a", one), entry("b", other)]);
    expect(find("0.0.0.0_80")).not.toHaveProperty("listenerFilters");
    expect(call("0.0.0.0_80")).toBe("http 80");
  });

  test("gRPC-Web anywhere on a port brings its filter", () => {
    const { chain } = outbound([entry("a", "80/HTTP"), entry("b", "80/GRPC-Web")]);
    const { typedConfig } = chain("0.0.0.0_80", { speaks: "http" })?.filters?.[0] ?? {};
    expect(typedConfig).toMatchObject({
      httpFilters: ["grpc_web", "fault", "cors", "router"].map((name) => ({ name: `envoy.filters.http.${name}` })),
    });
  });
});

describe("everything else that is redirected", () => {
  test("goes to where it was meant for", () => {
    const { find, call } = outbound([]);
    expect(find(VIRTUAL)).toMatchObject({
      address: { socketAddress: { address: "0.0.0.0", portValue: 15001 } },
      useOriginalDst: true,
      trafficDirection: "OUTBOUND",
    });
    expect(call(VIRTUAL, { port: 9999 })).toBe("tcp PassthroughCluster");
    expect(call(VIRTUAL, { port: 15001 })).toBe("tcp BlackHoleCluster");
  });

  test.each([
    {
      what: "REGISTRY_ONLY of the mesh",
      meshYaml: "outboundTrafficPolicy: {mode: REGISTRY_ONLY}",
      objects: [],
      cluster: "BlackHoleCluster",
    },
    {
      what: "REGISTRY_ONLY of a Sidecar object",
      meshYaml: "",
      objects: [sidecar({ outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } })],
      cluster: "BlackHoleCluster",
    },
    {
      what: "an egress proxy",
      meshYaml: "",
      objects: [
        sidecar({
          outboundTrafficPolicy: {
            mode: "ALLOW_ANY",
            egressProxy: { host: "a.example", subset: "v1", port: { number: 80 } },
          },
        }),
      ],
      cluster: "outbound|80|v1|a.example",
    },
  ])("$what: to $cluster", ({ meshYaml, objects, cluster }) => {
    const { call } = outbound([entry("a", "80/HTTP"), ...objects], { meshYaml });
    expect(call(VIRTUAL, { port: 9999 })).toBe(`tcp ${cluster}`);
    expect(call("0.0.0.0_80", { speaks: "tcp" })).toBe(`tcp ${cluster}`);
  });

  test("with TPROXY the listener is transparent", () => {
    const { find } = outbound([], { node: { metadata: { INTERCEPTION_MODE: "TPROXY" } } });
    expect(find(VIRTUAL).transparent).toBe(true);
  });

  test("access logs: of both layers everywhere, of a listener for what found no chain", () => {
    const { find, chain } = outbound([entry("a", "80/HTTP 90/TCP")], { meshYaml: "accessLogFile: /dev/stdout" });
    expect(find(VIRTUAL).accessLog).toMatchObject([{ filter: { responseFlagFilter: { flags: ["NR"] } } }]);
    const logs = [
      chain("0.0.0.0_80", { speaks: "http" }),
      chain("0.0.0.0_80"),
      chain("0.0.0.0_90"),
      chain(VIRTUAL, { port: 9 }),
    ].map((found) => (found?.filters?.[0]?.typedConfig as { accessLog?: unknown[] } | undefined)?.accessLog?.length);
    expect(logs).toEqual([1, 1, 1, 1]);
  });
});

describe("without interception", () => {
  test("listeners are bound to loopback and HTTP is not looked for", () => {
    const { names, find, call } = outbound([entry("a", "80/HTTP 90/TCP 91/", VIP)], NONE);
    expect(names).toEqual(["127.0.0.1_80", "127.0.0.1_90", "127.0.0.1_91"]);
    expect(find("127.0.0.1_80")).not.toHaveProperty("listenerFilters");
    expect(find("127.0.0.1_80")).not.toHaveProperty("bindToPort");
    expect(call("127.0.0.1_80")).toBe("http 80");
    expect(call("127.0.0.1_91", { speaks: "http" })).toBe("http a.example:91");
  });

  test("a proxy with both families binds both loopbacks", () => {
    const node = { metadata: { INTERCEPTION_MODE: "NONE", INSTANCE_IPS: "10.10.0.11,2001:db8::11" } };
    expect(outbound([entry("a", "80/HTTP")], { node }).find("127.0.0.1_80").additionalAddresses).toEqual([
      { address: { socketAddress: { address: "::1", portValue: 80 } } },
    ]);
  });

  test("HTTP and TCP on one port are distinguished there", () => {
    const { call, conflicts } = outbound([entry("a", "80/HTTP"), entry("b", "80/TCP")], NONE);
    expect(call("127.0.0.1_80", { speaks: "http" })).toBe("http 80");
    expect(call("127.0.0.1_80")).toBe("tcp outbound|80||b.example");
    expect(conflicts).toEqual([]);
  });

  test("sniffed services on one port share its routes", () => {
    const { call, conflicts } = outbound([entry("a", "91/"), entry("b", "91/")], NONE);
    expect(call("127.0.0.1_91", { speaks: "http" })).toBe("http 91");
    expect(call("127.0.0.1_91")).toBe("tcp outbound|91||a.example");
    expect(conflicts).toMatchObject([{ kind: "outbound-tcp", winner: "a.example", dropped: "b.example" }]);
  });

  test("TLS services on one port are distinguished by server name, a single one takes every name", () => {
    expect(outbound([entry("a", "443/TLS")], NONE).call("127.0.0.1_443", { speaks: "tls", sni: "x" })).toBe(
      "tcp outbound|443||a.example",
    );
    const { call, conflicts } = outbound(
      ["a", "b", "c"].map((name) => entry(name, "443/TLS", VIP)),
      NONE,
    );
    for (const name of ["a", "b", "c"]) {
      expect(call("127.0.0.1_443", { speaks: "tls", sni: `${name}.example` })).toBe(
        `tcp outbound|443||${name}.example`,
      );
    }
    expect(conflicts).toEqual([]);
  });
});

describe("the HTTP proxy listener", () => {
  test.each([
    { what: "of the mesh", meshYaml: "proxyHttpPort: 15007", metadata: {}, port: 15007 },
    { what: "of the node", meshYaml: "proxyHttpPort: 15007", metadata: { HTTP_PROXY_PORT: "3128" }, port: 3128 },
  ])("$what", ({ meshYaml, metadata, port }) => {
    const { find, call } = outbound([], { meshYaml, node: { metadata } });
    const name = `127.0.0.1_${port}`;
    expect(find(name)).not.toHaveProperty("bindToPort");
    expect(call(name)).toBe("http http_proxy");
    expect(find(name).filterChains?.[0]?.filters?.[0]?.typedConfig).toMatchObject({
      httpProtocolOptions: { allowAbsoluteUrl: true },
    });
  });

  test("keeps its address from services", () => {
    const { call, conflicts } = outbound([entry("a", "3128/HTTP")], { ...NONE, meshYaml: "proxyHttpPort: 3128" });
    expect(call("127.0.0.1_3128")).toBe("http http_proxy");
    expect(conflicts).toMatchObject([{ kind: "address", listener: "127.0.0.1_3128" }]);
  });
});

describe("hosts that are looked up as they are called", () => {
  const meshYaml = "outboundTrafficPolicy: {mode: ALLOW_ANY_DYNAMIC_DNS}";
  const virtual = (objects: readonly TestObject[], mesh = meshYaml) =>
    outbound(objects, { meshYaml: mesh }).listeners.find(({ name }) => name === VIRTUAL);

  test("are those of HTTP on ports that no service has; on others nothing is looked for", () => {
    const listener = virtual([entry("a", "80/HTTP 3306/TCP", VIP)]);
    const matches = listener?.filterChains?.map(({ filterChainMatch }) => filterChainMatch);
    expect(matches).toEqual([{ destinationPort: 15001 }, { applicationProtocols: ["http/1.1", "h2c"] }, undefined]);
    expect(JSON.stringify(listener?.filterChains?.[1])).toContain("AllowAnyDynamicDNSCluster");
    expect(listener?.listenerFilters?.map(({ name, filterDisabled }) => [name, filterDisabled])).toEqual([
      ["envoy.filters.listener.original_dst", undefined],
      [
        "envoy.filters.listener.http_inspector",
        {
          orMatch: {
            rules: [80, 3306].map((start) => ({ destinationPortRange: { start, end: start + 1 } })),
          },
        },
      ],
    ]);
    expect(listener).toMatchObject({ listenerFiltersTimeout: "1s", continueOnListenerFiltersTimeout: true });
  });

  test.each([
    { own: "ALLOW_ANY", spec: { outboundTrafficPolicy: { mode: "ALLOW_ANY" } } },
    { own: "REGISTRY_ONLY", spec: { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } } },
  ])("are none where a Sidecar says $own", ({ spec }) => {
    const listener = virtual([sidecar({ egress: [{ hosts: ["./*"] }], ...spec })]);
    expect(listener?.filterChains).toHaveLength(2);
    expect(listener?.listenerFilters).toBeUndefined();
  });
});
