import { expect, test } from "vitest";
import {
  buildContext,
  compareClusters,
  compareEndpoints,
  compareListeners,
  compareNameTable,
  compareRoutes,
} from "./index.ts";
import type { Json } from "./json.ts";

const entry = (spec: string) =>
  `apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: a, namespace: ns}\nspec: ${spec}\n`;

const tls = (context: Json, more: Json = {}) => ({
  name: "envoy.transport_sockets.tls",
  typedConfig: {
    "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
    commonTlsContext: context,
    ...more,
  },
});
const cluster = (more: Json): Json => ({ name: "outbound|80||a.example", type: "EDS", ...more });
const sans = (validation: Json) =>
  cluster({ transportSocket: tls({ combinedValidationContext: { defaultValidationContext: validation } }) });
const withAlpn = (...alpnProtocols: string[]) => cluster({ transportSocket: tls({ alpnProtocols }) });

test.each([
  { golden: ["istio"], ours: ["istio-http/1.1", "istio", "http/1.1"], accepted: true },
  { golden: ["istio", "h2"], ours: ["istio-h2", "istio", "h2"], accepted: true },
  { golden: ["istio"], ours: ["istio-peer-exchange", "istio"], accepted: false },
  { golden: ["istio"], ours: ["istio-h2", "istio", "h2"], accepted: false },
  { golden: ["h2"], ours: [], accepted: false },
])(
  "a client offering $ours where the reference offers $golden is accepted: $accepted",
  ({ golden, ours, accepted }) => {
    expect(compareClusters([withAlpn(...golden)], [withAlpn(...ours)]).length === 0).toBe(accepted);
  },
);

test.each([
  { sanType: "URI", exact: "spiffe://t/ns/a/sa/b", accepted: true },
  { sanType: "DNS", exact: "spiffe://t/ns/a/sa/b", accepted: false },
  { sanType: "DNS", exact: "a.example", accepted: true },
  { sanType: "URI", exact: "a.example", accepted: false },
])("the typed matcher $sanType for $exact is accepted: $accepted", ({ sanType, exact, accepted }) => {
  const golden = sans({ matchSubjectAltNames: [{ exact }] });
  const ours = sans({ matchTypedSubjectAltNames: [{ sanType, matcher: { exact } }] });
  expect(compareClusters([golden], [ours]).length === 0).toBe(accepted);
});

test("identities of sidecars may be left out only where the host itself is verified", () => {
  const spiffe = { matchSubjectAltNames: [{ exact: "spiffe://t/ns/a/sa/b" }, { exact: "a.example" }] };
  const verifies = {
    typedExtensionProtocolOptions: { http: { upstreamHttpProtocolOptions: { autoSanValidation: true } } },
  };
  const ours = sans({ matchSubjectAltNames: [{ exact: "a.example" }] });
  expect(compareClusters([{ ...sans(spiffe), ...verifies }], [{ ...ours, ...verifies }])).toEqual([]);
  expect(compareClusters([sans(spiffe)], [ours])).toHaveLength(1);
});

test("no panic threshold is as good as zero, unless endpoints are ejected", () => {
  const golden = cluster({ commonLbConfig: { healthyPanicThreshold: {} } });
  expect(compareClusters([golden], [cluster({})])).toEqual([]);
  const ejecting = { outlierDetection: { consecutive5xx: 1 } };
  expect(compareClusters([{ ...golden, ...ejecting }], [cluster(ejecting)])).toHaveLength(1);
  const limited = cluster({ commonLbConfig: { healthyPanicThreshold: { value: 40 } } });
  expect(compareClusters([limited], [cluster({})])).toHaveLength(1);
});

test.each([
  { name: "inbound|80||", accepted: true },
  { name: "PassthroughCluster", accepted: false },
])("a second address that $name calls from is accepted: $accepted", ({ name, accepted }) => {
  const bound = (more: Json): Json => ({
    name,
    type: "ORIGINAL_DST",
    upstreamBindConfig: { sourceAddress: { address: "127.0.0.6" }, ...more },
  });
  const second = { extraSourceAddresses: [{ address: { address: "::6" } }] };
  expect(compareClusters([bound({})], [bound(second)]).length === 0).toBe(accepted);
  expect(compareClusters([bound(second)], [bound({})])).not.toEqual([]);
});

test("the inbound side of a port that only UDP is served on may be left out", () => {
  const udp = { name: "inbound|5353||", type: "ORIGINAL_DST" };
  const context = buildContext(entry("{hosts: [a], ports: [{number: 53, targetPort: 5353, name: d, protocol: UDP}]}"));
  expect(compareClusters([udp], [], context)).toEqual([]);
  expect(compareClusters([udp], [])).toHaveLength(1);
  const shared = buildContext(
    entry("{hosts: [a], ports: [{number: 5353, name: d, protocol: UDP}, {number: 5353, name: t, protocol: TCP}]}"),
  );
  expect(compareClusters([udp], [], shared)).toHaveLength(1);
});

const assignment = (weight: number, ...addresses: string[]) => ({
  clusterName: "c",
  endpoints: [
    {
      loadBalancingWeight: weight,
      lbEndpoints: addresses.map((address) => ({
        endpoint: { address: { socketAddress: { address, portValue: 80 } } },
      })),
    },
  ],
});

test("an endpoint that the reference repeats is listed once by us, with its own weight", () => {
  const golden = assignment(4, "10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.2");
  expect(compareEndpoints([golden], [assignment(2, "10.0.0.2", "10.0.0.1")])).toEqual([]);
  expect(compareEndpoints([golden], [assignment(4, "10.0.0.2", "10.0.0.1")])).toHaveLength(1);
  expect(compareEndpoints([golden], [assignment(2, "10.0.0.1")]).length).toBeGreaterThan(0);
});

test("HEALTHY may be said of an endpoint of unknown health, nothing else", () => {
  const [locality] = assignment(1, "10.0.0.1").endpoints;
  const notices = (healthStatus: string) => [
    { clusterName: "c", endpoints: [{ ...locality, lbEndpoints: [{ ...locality?.lbEndpoints[0], healthStatus }] }] },
  ];
  expect(compareEndpoints([assignment(1, "10.0.0.1")], notices("HEALTHY"))).toEqual([]);
  expect(compareEndpoints([assignment(1, "10.0.0.1")], notices("UNHEALTHY"))).not.toEqual([]);
});

const routeConfig = (name: string, domains: string[], routes: Json[] = []) => [
  { name: "80", virtualHosts: [{ name, domains, routes }] },
];

test.each([
  { addresses: "[10.0.0.1]", golden: ["a", "10.0.0.1"], ours: ["a"], accepted: false },
  { addresses: "[10.0.0.1]", golden: ["a", "a.", "10.0.0.1"], ours: ["a", "10.0.0.1"], accepted: true },
  { addresses: "[10.0.0.1, 10.0.0.2]", golden: ["a", "10.0.0.1"], ours: ["a", "10.0.0.2", "10.0.0.1"], accepted: true },
  { addresses: "[10.0.0.1, 10.0.0.2]", golden: ["a", "10.0.0.1"], ours: ["a"], accepted: false },
  { addresses: "[10.0.0.1, 10.0.0.2]", golden: ["a", "10.0.0.1"], ours: ["a", "10.0.0.9"], accepted: false },
  { addresses: "['2001:db8::2', 10.0.0.2]", golden: ["a", "10.0.0.2"], ours: ["a", "[2001:db8::2]"], accepted: true },
  { addresses: "[]", golden: ["a", "b"], ours: ["a"], accepted: false },
])("domains $ours for $golden of a host with addresses $addresses are accepted: $accepted", (row) => {
  const context = buildContext(entry(`{hosts: [a], addresses: ${row.addresses}}`));
  const found = compareRoutes(routeConfig("a:80", row.golden), routeConfig("a:80", row.ours), context);
  expect(found.length === 0).toBe(row.accepted);
});

test("a note can say that a virtual host needs no address", () => {
  const notes = { unstable: [{ file: "routes.json", what: "domains of virtual host a:80 (x)", accept: "none, any" }] };
  const context = buildContext(entry("{hosts: [a], addresses: [10.0.0.1, 10.0.0.2]}"), notes);
  expect(compareRoutes(routeConfig("a:80", ["a", "10.0.0.1"]), routeConfig("a:80", ["a"]), context)).toEqual([]);
});

const toCluster = (cluster: string) => [{ match: { prefix: "/" }, route: { cluster } }];

test("the only port of a destination may be used where the reference names a cluster that does not exist", () => {
  const golden = routeConfig("a:80", ["a"], toCluster("outbound|80||b"));
  const ours = routeConfig("a:80", ["a"], toCluster("outbound|8080||b"));
  const has = new Set(["outbound|8080||b"]);
  expect(compareRoutes(golden, ours, undefined, { golden: has, ours: has })).toEqual([]);
  expect(compareRoutes(golden, ours, undefined, { golden: new Set(["outbound|80||b"]), ours: has })).toHaveLength(1);
  expect(compareRoutes(golden, ours, undefined, { golden: has, ours: new Set() })).toHaveLength(1);
});

test("names that users gave to routes count, others do not", () => {
  const named = (name: string | undefined) =>
    routeConfig("a:80", ["a"], [{ match: { prefix: "/" }, ...(name && { name }) }]);
  expect(compareRoutes(named("default"), named(undefined))).toEqual([]);
  expect(compareRoutes(named(undefined), named("anything"))).toEqual([]);
  expect(compareRoutes(named("canary"), named(undefined))).toHaveLength(1);
});

test("the gRPC timeout limit may stand in its new place, with the same meaning", () => {
  const route = (action: Json) => routeConfig("a:80", ["a"], [{ match: { prefix: "/" }, route: action }]);
  const golden = route({ timeout: "5s", maxGrpcTimeout: "5.000s" });
  expect(compareRoutes(golden, route({ timeout: "5s", maxStreamDuration: { grpcTimeoutHeaderMax: "5s" } }))).toEqual(
    [],
  );
  expect(compareRoutes(golden, route({ timeout: "5s" }))).toHaveLength(1);
});

test("a catch-all virtual host that is not the last is reported", () => {
  const hosts = [
    { name: "allow_any", domains: ["*"] },
    { name: "a:80", domains: ["a"] },
  ];
  const found = compareRoutes(
    [{ name: "80", virtualHosts: hosts.toReversed() }],
    [{ name: "80", virtualHosts: hosts }],
  );
  expect(found).toMatchObject([{ path: "routes[80].catchAll" }]);
});

const listener = (...filterChains: Json[]): Json => ({ name: "virtualInbound", filterChains });
const chain = (match: Json, more: Json = {}): Json => ({ filterChainMatch: match, ...more });

test("two chains with one match are an error, regardless of the order in which the match is written", () => {
  const one = chain({ applicationProtocols: ["a", "b"] });
  const same = chain({ applicationProtocols: ["b", "a"] });
  expect(compareListeners([listener(one)], [listener(same)])).toEqual([]);
  expect(compareListeners([listener(one)], [listener(one, same)])).toHaveLength(1);
});

test("TLS settings of an ingress listener may be honoured", () => {
  const context = buildContext(
    "kind: Sidecar\nmetadata: {name: s, namespace: ns}\nspec: {ingress: [{port: {number: 8443}, tls: {mode: SIMPLE}}]}\n",
  );
  const plain = listener(chain({ destinationPort: 8443, transportProtocol: "raw_buffer" }));
  const own = listener(chain({ destinationPort: 8443, transportProtocol: "tls" }, { transportSocket: tls({}) }));
  expect(compareListeners([plain], [own], { context })).toEqual([]);
  expect(compareListeners([plain], [plain], { context })).toEqual([]);
  expect(compareListeners([plain], [listener()], { context })).toHaveLength(1);
  expect(compareListeners([plain], [own])).toHaveLength(2);
});

const manager = (...names: string[]) =>
  listener(
    chain(
      {},
      {
        filters: [
          {
            name: "envoy.filters.network.http_connection_manager",
            typedConfig: {
              "@type": "type.googleapis.com/x.HttpConnectionManager",
              rds: { routeConfigName: "80" },
              httpFilters: names.map((name) => ({ name: `envoy.filters.http.${name}` })),
            },
          },
        ],
      },
    ),
  );

test("filters for single routes may be absent unless a route uses them, and keep their order", () => {
  const golden = [manager("grpc_stats", "fault", "cors", "router")];
  const faulty = [
    { name: "80", virtualHosts: [{ routes: [{ typedPerFilterConfig: { "envoy.filters.http.fault": {} } }] }] },
  ];
  expect(compareListeners(golden, [manager("router")])).toEqual([]);
  expect(compareListeners(golden, [manager("router")], { routes: faulty })).toHaveLength(1);
  expect(compareListeners(golden, [manager("fault", "router")], { routes: faulty })).toEqual([]);
  expect(compareListeners(golden, [manager("router", "fault")])).toHaveLength(1);
  expect(compareListeners(golden, [manager("cors", "fault", "router")])).toHaveLength(1);
});

test("and-lists and or-lists of one element mean the element", () => {
  const rbac = (ids: Json) =>
    listener(
      chain({}, { filters: [{ name: "rbac", typedConfig: { "@type": "x.RBAC", rules: { policies: { p: ids } } } }] }),
    );
  const plain = rbac({ principals: [{ any: true }] });
  expect(
    compareListeners([plain], [rbac({ principals: [{ orIds: { ids: [{ andIds: { ids: [{ any: true }] } }] } }] })]),
  ).toEqual([]);
  expect(compareListeners([plain], [rbac({ principals: [{ notId: { any: true } }] })])).not.toEqual([]);
});

test.each([
  { failureModeAllow: true },
  { filterEnabledMetadata: { filter: "envoy.filters.network.rbac", value: { stringMatch: { prefix: "other" } } } },
])("another question to an external authorizer is another filter: %j", (difference) => {
  const asking = (more: Json) => {
    const typedConfig = { "@type": "x.ExtAuthz", grpcService: { envoyGrpc: { clusterName: "c" } }, ...more };
    return listener(chain({}, { filters: [{ name: "envoy.filters.network.ext_authz", typedConfig }] }));
  };
  expect(compareListeners([asking({ statPrefix: "tcp." })], [asking({})])).toEqual([]);
  expect(compareListeners([asking({})], [asking(difference)])).not.toEqual([]);
});

test("a headless host may be in the name table with the addresses of its endpoints, and with no other", () => {
  const context = buildContext(entry("{hosts: [h], resolution: NONE, endpoints: [{address: 10.0.0.1}]}"));
  const table = (...ips: string[]) => ({ table: { h: { ips, registry: "External" } } });
  expect(compareNameTable({ table: {} }, table("10.0.0.1"), context)).toEqual([]);
  expect(compareNameTable({ table: {} }, table("10.0.0.2"), context)).toHaveLength(1);
  expect(compareNameTable({ table: {} }, table("10.0.0.1"))).toHaveLength(1);
});

test("a resource that is missing, additional or repeated is reported by its name", () => {
  const [a, b] = [cluster({ name: "a" }), cluster({ name: "b" })];
  expect(compareClusters([a], [b])).toEqual([
    { path: "clusters[a]", golden: "present", ours: undefined },
    { path: "clusters[b]", golden: undefined, ours: "present" },
  ]);
  expect(compareClusters([a], [a, a])).toEqual([{ path: "clusters[a]", golden: "once", ours: "more than once" }]);
});

const dynamic = (config: Json, more: Json = {}): Json => ({
  name: "outbound|80||*.a.example",
  clusterType: { name: "envoy.clusters.dynamic_forward_proxy", typedConfig: config },
  ...more,
});

test.each([
  { what: "another name", ours: { dnsCacheConfig: { name: "b", dnsLookupFamily: "V4_ONLY" } }, accepted: true },
  { what: "another family", ours: { dnsCacheConfig: { name: "a", dnsLookupFamily: "V6_ONLY" } }, accepted: false },
  {
    what: "no request for names",
    ours: { dnsCacheConfig: { name: "a", dnsLookupFamily: "V4_ONLY" }, allowInsecureClusterOptions: true },
    accepted: true,
  },
])("a cluster that looks up names with $what is accepted: $accepted", ({ ours, accepted }) => {
  const golden = { dnsCacheConfig: { name: "a", dnsLookupFamily: "V4_ONLY" } };
  expect(compareClusters([dynamic(golden)], [dynamic(ours)]).length === 0).toBe(accepted);
});

test("a cluster with TLS must not stop checking names", () => {
  const transportSocket = tls({});
  const ours = dynamic({ allowInsecureClusterOptions: true }, { transportSocket });
  expect(compareClusters([dynamic({}, { transportSocket })], [ours])).toHaveLength(1);
});

test.each([
  { type: "ORIGINAL_DST", accepted: true },
  { type: "STRICT_DNS", accepted: false },
])("how names are looked up need not be said to a $type cluster: $accepted", ({ type, accepted }) => {
  const lookup = { dnsLookupFamily: "V4_ONLY", dnsRefreshRate: "60s", respectDnsTtl: true };
  expect(compareClusters([cluster({ type, ...lookup })], [cluster({ type })]).length === 0).toBe(accepted);
});
