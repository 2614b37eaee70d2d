import { describe, expect, test } from "vitest";
import { decodeMessage } from "../../../protocol/envoy/index.ts";
import type { Cluster } from "../../../protocol/gen/envoy/config/cluster/v3.ts";
import type { FilterChain, Listener } from "../../../protocol/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../../../protocol/gen/envoy/config/route/v3.ts";
import { any } from "../../../protocol/protobuf/discovery.ts";
import { createTestMesh, type TestNode, testNode } from "../../testing/create-test-mesh.ts";
import { destinationRule, documents, service, type TestObject, virtualService } from "../../testing/test-objects.ts";
import { createResourceSource } from "../create-resource-source.ts";

const HOST = "web.default.svc.cluster.local";
const OUTBOUND = `outbound|80||${HOST}`;
const MANAGER = "envoy.filters.network.http_connection_manager";
const TYPE = "type.googleapis.com/envoy.extensions";
const mesh: readonly TestObject[] = [
  service({ name: "web", endpoints: [{ address: "10.10.0.11", labels: { app: "web" } }] }),
  destinationRule("web", HOST, { subsets: [{ name: "v1", labels: { version: "v1" } }] }),
  virtualService("web", [HOST], {
    http: [
      { name: "old", match: [{ uri: { prefix: "/old" } }], redirect: { uri: "/new" } },
      { name: "main", route: [{ destination: { host: HOST } }] },
    ],
  }),
];

interface Match {
  readonly [member: string]: unknown;
}
const patch = (applyTo: string, operation: string, match?: Match, value?: object) => ({
  applyTo,
  ...(match && { match }),
  patch: { operation, ...(value && { value }) },
});
const filter = (configPatches: readonly object[], more: Partial<TestObject> & { spec?: object } = {}): TestObject => ({
  kind: "EnvoyFilter",
  name: "f",
  ...more,
  spec: { configPatches, ...more.spec },
});

function generate(objects: readonly TestObject[], node: TestNode = {}) {
  const problems: string[] = [];
  const source = createResourceSource({ onProblem: ({ effect, reason }) => problems.push(`${effect}: ${reason}`) });
  const { snapshot } = createTestMesh(documents(...mesh, ...objects)).take();
  const view = snapshot.view(testNode({ labels: { app: "web" }, ...node }));
  const decode = <Message>(type: string, { resources }: { resources: readonly { any: Buffer }[] }) =>
    resources.map((one) => decodeMessage(type as never, Buffer.from(any.decode(one.any).value)) as Message);
  const clusters = decode<Cluster>("envoy.config.cluster.v3.Cluster", source.all(view, "CDS"));
  const listeners = decode<Listener>("envoy.config.listener.v3.Listener", source.all(view, "LDS"));
  const [route] = decode<RouteConfiguration>(
    "envoy.config.route.v3.RouteConfiguration",
    source.named(view, "RDS", ["80"]),
  );
  return {
    problems,
    source,
    view,
    cluster: (name: string) => clusters.find((one) => one.name === name),
    listener: (name: string) => listeners.find((one) => one.name === name),
    hosts: route?.virtualHosts ?? [],
    routes: (route?.virtualHosts ?? []).find(({ name }) => name === `${HOST}:80`)?.routes ?? [],
    route,
  };
}
const patched = (...patches: readonly object[]) => generate([filter(patches)]);

/** Names of the HTTP filters of a chain. */
const httpFilters = (chain: FilterChain | undefined): readonly (string | undefined)[] => {
  const manager = chain?.filters?.find(({ name }) => name === MANAGER)?.typedConfig as {
    httpFilters?: { name?: string }[];
  };
  return (manager?.httpFilters ?? []).map(({ name }) => name?.replace("envoy.filters.http.", ""));
};
const outboundHttp = ({ listener }: ReturnType<typeof generate>) => listener("0.0.0.0_80")?.filterChains?.[0];
const LUA = { name: "envoy.filters.http.lua", typed_config: { "@type": `${TYPE}.filters.http.lua.v3.Lua` } };
const subFilter = (name: string) => ({
  filterChain: { filter: { name: MANAGER, subFilter: { name: `envoy.filters.http.${name}` } } },
});

describe("which proxies are patched", () => {
  const slow = (seconds: number, more: Partial<TestObject> & { spec?: object } = {}, match?: Match) =>
    filter([patch("CLUSTER", "MERGE", match, { connect_timeout: `${seconds}s` })], { name: `f${seconds}`, ...more });
  const ROOT = { namespace: "istio-system" };

  test.each<{ is: string; objects: TestObject[]; seconds: number }>([
    { is: "nobody says anything", objects: [], seconds: 10 },
    { is: "the namespace", objects: [slow(1)], seconds: 1 },
    { is: "another namespace", objects: [slow(1, { namespace: "prod" })], seconds: 10 },
    { is: "the mesh", objects: [slow(1, ROOT)], seconds: 1 },
    { is: "the namespace after the mesh", objects: [slow(1), slow(2, { ...ROOT, created: 9 })], seconds: 1 },
    { is: "by name, when equally old", objects: [slow(2), slow(1)], seconds: 2 },
    { is: "by age", objects: [slow(2, { created: 1 }), slow(1, { created: 2 })], seconds: 1 },
    { is: "by priority first", objects: [slow(2, { spec: { priority: -1 } }), slow(1)], seconds: 1 },
    {
      is: "workloads with the labels",
      objects: [slow(1, { spec: { workloadSelector: { labels: { app: "web" } } } })],
      seconds: 1,
    },
    {
      is: "other workloads",
      objects: [slow(1, { spec: { workloadSelector: { labels: { app: "api" } } } })],
      seconds: 10,
    },
    {
      is: "gateways",
      objects: [
        slow(1, { spec: { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "g" }] } }),
      ],
      seconds: 10,
    },
    { is: "proxies of the version", objects: [slow(1, {}, { proxy: { proxyVersion: "^1\\.2[0-9]" } })], seconds: 1 },
    { is: "proxies of another version", objects: [slow(1, {}, { proxy: { proxyVersion: "^1\\.3" } })], seconds: 10 },
    { is: "proxies with the metadata", objects: [slow(1, {}, { proxy: { metadata: { TIER: "gold" } } })], seconds: 1 },
    {
      is: "proxies with other metadata",
      objects: [slow(1, {}, { proxy: { metadata: { TIER: "lead" } } })],
      seconds: 10,
    },
    { is: "the other direction", objects: [slow(1, {}, { context: "SIDECAR_INBOUND" })], seconds: 10 },
    { is: "gateways, by context", objects: [slow(1, {}, { context: "GATEWAY" })], seconds: 10 },
  ])("$is: $seconds s", ({ objects, seconds }) => {
    const metadata = { ISTIO_VERSION: "1.24.1", TIER: "gold" };
    expect(generate(objects, { metadata }).cluster(OUTBOUND)?.connectTimeout).toBe(`${seconds}s`);
  });

  test("proxies that the same patches reach share every byte, others do not", () => {
    const { source, view } = generate([slow(1, {}, { proxy: { metadata: { TIER: "gold" } } })]);
    const other = (name: string, TIER: string) =>
      view.snapshot.view(testNode({ name, address: name, metadata: { TIER } }));
    const body = (one: typeof view) => source.all(one, "CDS").sotwBody[0];
    expect(body(other("10.0.0.1", "gold"))).toBe(body(other("10.0.0.2", "gold")));
    expect(body(other("10.0.0.1", "gold"))).not.toBe(body(other("10.0.0.3", "lead")));
    expect(body(other("10.0.0.3", "lead"))).toBe(body(other("10.0.0.4", "wood")));
  });
});

describe("clusters", () => {
  const inbound = "inbound|80||";
  const named = (cluster: Match, context = "ANY") =>
    patched(patch("CLUSTER", "MERGE", { context, cluster }, { connect_timeout: "1s" }));

  test.each<{ match: Match; context?: string; changed: string[] }>([
    { match: { name: OUTBOUND }, changed: [OUTBOUND] },
    { match: { subset: "v1" }, changed: [`outbound|80|v1|${HOST}`] },
    { match: { service: HOST }, changed: [OUTBOUND, `outbound|80|v1|${HOST}`, inbound] },
    { match: { service: HOST }, context: "SIDECAR_INBOUND", changed: [inbound] },
    { match: { portNumber: 80 }, context: "SIDECAR_OUTBOUND", changed: [OUTBOUND, `outbound|80|v1|${HOST}`] },
    { match: { name: "PassthroughCluster" }, context: "SIDECAR_OUTBOUND", changed: ["PassthroughCluster"] },
    { match: { name: "PassthroughCluster" }, context: "SIDECAR_INBOUND", changed: [] },
    { match: { portNumber: 81 }, changed: [] },
  ])("a match on $match ($context) finds $changed", ({ match, context, changed }) => {
    const { cluster } = named(match, context);
    const all = [OUTBOUND, `outbound|80|v1|${HOST}`, inbound, "PassthroughCluster"];
    expect(all.filter((name) => cluster(name)?.connectTimeout === "1s")).toEqual(changed);
  });

  test("are added once, removed, and keep their names to themselves", () => {
    const value = { name: "mine", type: "STATIC" };
    const { cluster, problems } = patched(
      patch("CLUSTER", "ADD", undefined, value),
      patch("CLUSTER", "ADD", undefined, { ...value, name: "BlackHoleCluster" }),
      patch("CLUSTER", "ADD", undefined, { type: "STATIC" }),
      patch("CLUSTER", "REMOVE", { cluster: { subset: "v1" } }),
    );
    // STATIC is zero.
    expect(cluster("mine")).toEqual({ name: "mine", type: "STATIC" });
    expect(cluster(`outbound|80|v1|${HOST}`)).toBeUndefined();
    expect(problems).toEqual([
      "refused-rule: EnvoyFilter default/f: configPatches[1]: the name BlackHoleCluster is taken",
      "refused-rule: EnvoyFilter default/f: configPatches[2]: a cluster needs a name",
    ]);
  });

  const tls = (name: string, type = "transport_sockets.tls.v3.UpstreamTlsContext") => ({
    transport_socket: { name, typed_config: { "@type": `${TYPE}.${type}`, max_session_keys: 5 } },
    connect_timeout: "1s",
  });
  test("TLS settings are merged into those of the socket with the name; the rest of the patch counts as well", () => {
    const { cluster } = patched(patch("CLUSTER", "MERGE", undefined, tls("envoy.transport_sockets.tls")));
    expect(cluster(OUTBOUND)).toMatchObject({
      connectTimeout: "1s",
      transportSocketMatches: [
        { transportSocket: { typedConfig: { maxSessionKeys: 5, commonTlsContext: {} } } },
        { name: "tlsMode-disabled" },
      ],
    });
    expect(cluster(inbound)).toMatchObject({ transportSocket: { typedConfig: { maxSessionKeys: 5 } } });
  });

  test("a socket that cannot go with those of the cluster is refused and told once", () => {
    const { cluster, problems } = patched(patch("CLUSTER", "MERGE", { cluster: { service: HOST } }, tls("mine")));
    expect(cluster(OUTBOUND)).not.toHaveProperty("transportSocket");
    expect(problems).toEqual([
      expect.stringContaining("configPatches[0]: sockets are chosen by endpoint here, and none is a mine"),
    ]);
  });
});

describe("filters", () => {
  const insert = (operation: string, sub: string | undefined, context = "SIDECAR_OUTBOUND") =>
    patched(patch("HTTP_FILTER", operation, { context, ...(sub && { listener: subFilter(sub) }) }, LUA));
  const plain = httpFilters(outboundHttp(generate([])));

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
    const last = (made: ReturnType<typeof generate>) => {
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

describe("listeners and chains", () => {
  const chain = {
    filters: [
      {
        name: "x",
        typed_config: {
          "@type": `${TYPE}.filters.network.tcp_proxy.v3.TcpProxy`,
          stat_prefix: "x",
          cluster: "BlackHoleCluster",
        },
      },
    ],
  };
  const added = {
    name: "extra",
    address: { socket_address: { address: "127.0.0.1", port_value: 7777 } },
    filter_chains: [chain],
  };

  test("listeners are merged, removed and added", () => {
    const { listener } = patched(
      patch("LISTENER", "MERGE", { listener: { portNumber: 80 } }, { tcp_backlog_size: 7 }),
      patch("LISTENER", "REMOVE", { listener: { name: "virtualInbound" } }),
      patch("LISTENER", "INSERT_FIRST", undefined, added),
    );
    expect(listener("0.0.0.0_80")).toMatchObject({ tcpBacklogSize: 7 });
    expect(listener("virtualInbound")).toBeUndefined();
    expect(listener("extra")).toMatchObject({ address: { socketAddress: { portValue: 7777 } } });
  });

  test.each([
    { value: { ...added, name: "virtualOutbound" }, says: "there is a listener virtualOutbound already" },
    { value: { ...added, name: "" }, says: "a listener needs a name" },
    {
      value: { ...added, address: { socket_address: { address: "0.0.0.0", port_value: 80 } } },
      says: "listener 0.0.0.0_80 has the address 0.0.0.0:80",
    },
  ])("one that proxies would refuse is not added: $says", ({ value, says }) => {
    expect(patched(patch("LISTENER", "ADD", undefined, value)).problems).toEqual([expect.stringContaining(says)]);
  });

  test("chains are merged, removed and added; a listener without any is left out", () => {
    const out = { context: "SIDECAR_OUTBOUND" };
    const own80 = { ...out, listener: { name: "0.0.0.0_80" } };
    const { listener, problems } = patched(
      patch(
        "FILTER_CHAIN",
        "MERGE",
        { listener: { filterChain: { name: "0.0.0.0_80" } } },
        { transport_socket_connect_timeout: "3s" },
      ),
      patch("FILTER_CHAIN", "ADD", own80, { name: "more", ...chain }),
      patch("FILTER_CHAIN", "ADD", own80, { name: "twin", ...chain }),
      patch("FILTER_CHAIN", "REMOVE", { ...out, listener: { name: "virtualOutbound" } }),
      patch("FILTER_CHAIN", "REMOVE", { ...out, listener: { filterChain: { name: "PassthroughFilterChain" } } }),
    );
    const own = listener("virtualInbound")?.filterChains?.filter(({ name }) => name === "0.0.0.0_80") ?? [];
    expect(own.map(({ transportSocketConnectTimeout }) => transportSocketConnectTimeout)).toEqual(own.map(() => "3s"));
    expect(listener("0.0.0.0_80")?.filterChains?.at(-1)?.name).toBe("more");
    expect(listener("0.0.0.0_80")).not.toHaveProperty("defaultFilterChain");
    expect(listener("virtualOutbound")).toBeUndefined();
    expect(problems).toEqual([
      expect.stringContaining("configPatches[2]: another chain has the same match"),
      expect.stringContaining("configPatches[3]: no chain is left: the listener is left out"),
    ]);
  });

  test("a chain for a port does not come beside one of the same match where redirected connections arrive", () => {
    const { listener, problems } = patched(
      patch(
        "FILTER_CHAIN",
        "ADD",
        { context: "SIDECAR_OUTBOUND", listener: { portNumber: 80 } },
        { name: "more", ...chain },
      ),
    );
    const names = (name: string) => listener(name)?.filterChains?.map((one) => one.name);
    expect(names("0.0.0.0_80")).toContain("more");
    expect(names("virtualOutbound")).not.toContain("more");
    expect(problems).toEqual([]);
  });

  test("TLS settings of a chain are merged", () => {
    const value = {
      transport_socket: {
        name: "envoy.transport_sockets.tls",
        typed_config: {
          "@type": `${TYPE}.transport_sockets.tls.v3.DownstreamTlsContext`,
          disable_stateless_session_resumption: true,
        },
      },
    };
    const { listener } = patched(
      patch(
        "FILTER_CHAIN",
        "MERGE",
        { listener: { portNumber: 80, filterChain: { transportProtocol: "tls" } } },
        value,
      ),
    );
    const ending = listener("virtualInbound")?.filterChains?.find(
      ({ name, transportSocket }) => name === "0.0.0.0_80" && transportSocket,
    );
    expect(ending?.transportSocket?.typedConfig).toMatchObject({
      disableStatelessSessionResumption: true,
      requireClientCertificate: true,
    });
  });
});

describe("routes", () => {
  const OUT = { context: "SIDECAR_OUTBOUND" };
  const within = (route?: Match) => ({
    ...OUT,
    routeConfiguration: { vhost: { name: `${HOST}:80`, ...(route && { route }) } },
  });
  const NEW = { name: "new", match: { prefix: "/n" }, direct_response: { status: 200 } };
  const names = (made: ReturnType<typeof generate>) => made.routes.map(({ name }) => name);

  test.each<{ operation: string; route?: Match; gives: string[] }>([
    { operation: "ADD", gives: ["old", "main", "new"] },
    { operation: "INSERT_FIRST", gives: ["new", "old", "main"] },
    { operation: "INSERT_FIRST", route: { name: "main" }, gives: ["new", "old", "main"] },
    { operation: "INSERT_FIRST", route: { name: "nobody" }, gives: ["old", "main"] },
    { operation: "INSERT_BEFORE", route: { action: "ROUTE" }, gives: ["old", "new", "main"] },
    { operation: "INSERT_AFTER", route: { action: "REDIRECT" }, gives: ["old", "new", "main"] },
    { operation: "INSERT_AFTER", gives: ["old", "main", "new"] },
    { operation: "REMOVE", route: { name: "old" }, gives: ["main"] },
    { operation: "REMOVE", route: { action: "DIRECT_RESPONSE" }, gives: ["old", "main"] },
  ])("$operation at $route", ({ operation, route, gives }) => {
    expect(names(patched(patch("HTTP_ROUTE", operation, within(route), NEW)))).toEqual(gives);
  });

  test("a merged route keeps what the patch does not name", () => {
    const { routes } = patched(patch("HTTP_ROUTE", "MERGE", within({ name: "main" }), { route: { timeout: "4s" } }));
    expect(routes[1]).toMatchObject({ name: "main", route: { cluster: OUTBOUND, timeout: "4s" } });
  });

  test("virtual hosts are merged, replaced, removed and added, and never have a domain twice", () => {
    const host = (name: string, domain: string) => ({ name, domains: [domain], routes: [NEW] });
    const { hosts, problems } = patched(
      patch("VIRTUAL_HOST", "MERGE", within(), { request_headers_to_remove: ["x"] }),
      patch("VIRTUAL_HOST", "REMOVE", { routeConfiguration: { vhost: { name: "allow_any" } } }),
      patch("VIRTUAL_HOST", "ADD", { ...OUT, routeConfiguration: { portNumber: 80 } }, host("a", "a.b")),
      patch("VIRTUAL_HOST", "ADD", { ...OUT, routeConfiguration: { portNumber: 81 } }, host("b", "b.b")),
      patch("VIRTUAL_HOST", "ADD", OUT, host("c", HOST)),
      patch("VIRTUAL_HOST", "ADD", OUT, host("a", "c.c")),
    );
    expect(hosts.map(({ name }) => name)).toEqual([`${HOST}:80`, "a"]);
    expect(hosts[0]?.requestHeadersToRemove).toEqual(["x"]);
    expect(problems).toEqual([
      expect.stringContaining(`another virtual host has the domain ${HOST}`),
      expect.stringContaining("there is a virtual host a already"),
    ]);
    const replaced = patched(
      patch(
        "VIRTUAL_HOST",
        "REPLACE",
        { ...OUT, routeConfiguration: { vhost: { domainName: HOST } } },
        host("r", "r.r"),
      ),
    );
    expect(replaced.hosts.map(({ name }) => name)).toEqual(["r", "allow_any"]);
  });

  test("configurations are merged, also those that come with the listener", () => {
    const value = { request_headers_to_remove: ["x"] };
    const { route, listener } = patched(
      patch("ROUTE_CONFIGURATION", "MERGE", { routeConfiguration: { portNumber: 80 } }, value),
    );
    expect(route).toMatchObject({ requestHeadersToRemove: ["x"] });
    const own = listener("virtualInbound")?.filterChains?.find(({ name }) => name === "0.0.0.0_80");
    expect(own?.filters?.at(-1)?.typedConfig).toMatchObject({ routeConfig: { requestHeadersToRemove: ["x"] } });
  });
});

test("a patch that cannot be read is told with its place and left out; the others are applied", () => {
  const { cluster, problems } = patched(
    patch("CLUSTER", "MERGE", undefined, { connect_timout: "1s" }),
    patch("HTTP_FILTER", "INSERT_FIRST", undefined, { name: "x", typed_config: { "@type": `${TYPE}.Nobody` } }),
    patch("CLUSTER", "MERGE", undefined, { connect_timeout: "2s" }),
  );
  expect(cluster(OUTBOUND)?.connectTimeout).toBe("2s");
  expect(problems).toEqual([
    "refused-rule: envoy.config.cluster.v3.Cluster has no member connect_timout",
    "refused-rule: typedConfig: no message is known by the name envoy.extensions.Nobody",
  ]);
});

test("settings of extensions are sent to whoever asks for them by name", () => {
  const { source, view } = patched(patch("EXTENSION_CONFIG", "ADD", undefined, LUA));
  const found = source.named(view, "ECDS", ["envoy.filters.http.lua", "nobody"]).resources;
  expect(found.map(({ name }) => name)).toEqual(["envoy.filters.http.lua"]);
});
