import { describe, expect, test } from "vitest";
import { chooseFilterChain, describeChain } from "../../../test/support/discovery/choose-filter-chain.ts";
import { createTestMesh, type TestNode, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, peerAuthentication, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import type { Filter, FilterChain, Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { DownstreamTlsContext } from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import type { InboundPolicies } from "../authz/access-policies.ts";
import { generateInboundListeners } from "./inbound.ts";

const generate = (
  objects: readonly TestObject[],
  node: TestNode = {},
  { meshYaml, policies }: { readonly meshYaml?: string; readonly policies?: InboundPolicies } = {},
) => {
  const view = createTestMesh(documents(...objects), meshYaml)
    .take()
    .snapshot.view(testNode(node));
  return generateInboundListeners(view, policies);
};
const workload = (name: string, ports: readonly (readonly [number, string, number?])[]): TestObject => ({
  kind: "ServiceEntry",
  name,
  spec: {
    hosts: [`${name}.default.svc.cluster.local`],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: ports.map(([number, protocol, targetPort = number]) => ({
      number,
      name: `p-${number}`,
      protocol,
      targetPort,
    })),
    endpoints: [{ address: "10.10.0.11" }],
  },
});
const sidecar = (...ingress: readonly object[]): TestObject => ({ kind: "Sidecar", name: "own", spec: { ingress } });
const http = (number: number, more: object = {}) => ({ port: { number, protocol: "HTTP", name: "http" }, ...more });
const DISABLE = peerAuthentication("off", "default", { mtls: { mode: "DISABLE" } });

const names = ({ listeners }: { readonly listeners: readonly Listener[] }) => listeners.map(({ name }) => name);
const portsOf = ({ filterChains = [] }: Listener = {}) =>
  [...new Set(filterChains.map(({ filterChainMatch }) => filterChainMatch?.destinationPort ?? 0))].filter(Boolean);
const configOf = (chain: FilterChain | undefined) =>
  (chain?.filters?.at(-1)?.typedConfig ?? {}) as unknown as Readonly<Record<string, unknown>>;
const filterNames = (config: Readonly<Record<string, unknown>>) =>
  (config.httpFilters as readonly Filter[]).map(({ name = "" }) => name.split(".").at(-1));

test.each([
  { mesh: "", tlsMinimumProtocolVersion: "TLSv1_2", cipherSuites: 6 },
  { mesh: "meshMTLS: {minProtocolVersion: TLSV1_3}", tlsMinimumProtocolVersion: "TLSv1_3", cipherSuites: 6 },
  { mesh: "meshMTLS: {cipherSuites: [AES256-GCM-SHA384]}", tlsMinimumProtocolVersion: "TLSv1_2", cipherSuites: 1 },
])("mutual TLS with the mesh settings '$mesh' begins at $tlsMinimumProtocolVersion", (row) => {
  const { listeners } = generate([workload("a", [[80, "HTTP"]])], {}, { meshYaml: row.mesh });
  const secured = listeners[0]?.filterChains?.filter(({ transportSocket }) => transportSocket !== undefined) ?? [];
  const params = secured.map(({ transportSocket }) => {
    const { commonTlsContext } = (transportSocket?.typedConfig ?? {}) as DownstreamTlsContext;
    const { cipherSuites = [], ...versions } = commonTlsContext?.tlsParams ?? {};
    return {
      mesh: row.mesh,
      tlsMinimumProtocolVersion: versions.tlsMinimumProtocolVersion,
      cipherSuites: cipherSuites.length,
    };
  });
  expect(params.length).toBeGreaterThan(1);
  for (const each of params) expect(each).toEqual(row);
});

describe("ports of services", () => {
  test("chains are for target ports, ascending; UDP has none", () => {
    const { listeners, conflicts } = generate([
      workload("a", [
        [80, "HTTP", 8080],
        [53, "UDP"],
        [90, "TCP", 99],
      ]),
    ]);
    expect(portsOf(listeners[0])).toEqual([15006, 99, 8080]);
    expect(conflicts).toEqual([]);
  });

  test("of services that contradict each other about a port the first is served, and the contradiction reported", () => {
    const { listeners, conflicts } = generate([workload("a", [[80, "HTTP"]]), workload("b", [[80, "TCP"]])]);
    expect(describeChain(chooseFilterChain(listeners[0] ?? {}, { port: 80, speaks: "http" }))).toMatch(/^http/);
    expect(conflicts).toEqual([
      {
        kind: "inbound-port",
        listener: "0.0.0.0_80",
        winner: "a.default.svc.cluster.local",
        dropped: "b.default.svc.cluster.local",
      },
    ]);
  });

  test("services that agree about a port share it silently", () => {
    expect(generate([workload("a", [[80, "HTTP"]]), workload("b", [[80, "HTTP"]])]).conflicts).toEqual([]);
  });

  test("a service on the proxy's own port is not served", () => {
    const { listeners, conflicts } = generate([workload("a", [[80, "HTTP", 15006]])]);
    expect(listeners[0]?.filterChains).toHaveLength(6);
    expect(conflicts).toMatchObject([{ kind: "reserved-port" }]);
  });

  test.each([
    { protocol: "HTTP", http2: undefined, retries: 2, filters: ["fault", "cors", "router"] },
    { protocol: "HTTP2", http2: {}, retries: 2, filters: ["fault", "cors", "router"] },
    { protocol: "GRPC", http2: {}, retries: undefined, filters: ["fault", "cors", "router"] },
    { protocol: "GRPC-Web", http2: {}, retries: undefined, filters: ["grpc_web", "fault", "cors", "router"] },
  ])("a $protocol port", ({ protocol, http2, retries, filters }) => {
    const { listeners } = generate([workload("a", [[70, protocol, 7070]])]);
    const config = configOf(chooseFilterChain(listeners[0] ?? {}, { port: 7070, speaks: "http" }));
    expect(config.http2ProtocolOptions).toEqual(http2);
    expect(filterNames(config)).toEqual(filters);
    expect(config).toMatchObject({
      forwardClientCertDetails: "APPEND_FORWARD",
      setCurrentClientCertDetails: { subject: true, dns: true, uri: true },
      routeConfig: { name: "inbound|7070||", virtualHosts: [{ name: "inbound|http|70", domains: ["*"] }] },
    });
    const { virtualHosts } = config.routeConfig as { virtualHosts: { routes: { route: object }[] }[] };
    const route = virtualHosts[0]?.routes[0]?.route as { retryPolicy?: { numRetries: number } };
    expect(route.retryPolicy?.numRetries).toBe(retries);
  });
});

describe("interception", () => {
  const ports = workload("a", [[80, "HTTP"]]);
  const filterOrder = ({ listenerFilters = [] }: Listener) =>
    listenerFilters.map(({ name = "" }) => name.split(".").at(-1));

  test("REDIRECT looks up the first destination", () => {
    const [listener = {}] = generate([ports]).listeners;
    expect(listener).toMatchObject({ name: "virtualInbound", trafficDirection: "INBOUND" });
    expect(listener.transparent).toBeUndefined();
    expect(filterOrder(listener)).toEqual(["original_dst", "tls_inspector", "http_inspector"]);
  });

  test("TPROXY keeps the client's address", () => {
    const [listener = {}] = generate([ports], { metadata: { INTERCEPTION_MODE: "TPROXY" } }).listeners;
    expect(listener.transparent).toBe(true);
    expect(filterOrder(listener)).toEqual(["original_dst", "original_src", "tls_inspector", "http_inspector"]);
    expect(listener.listenerFilters?.[1]?.typedConfig).toMatchObject({ mark: 1337 });
  });

  test("NONE without ingress listeners has nothing: the application has the ports", () => {
    expect(generate([ports], { metadata: { INTERCEPTION_MODE: "NONE" } })).toEqual({ listeners: [], conflicts: [] });
  });

  test.each([
    { addresses: "10.10.0.11", primary: "0.0.0.0", additional: undefined },
    { addresses: "2001:db8::11", primary: "::", additional: undefined },
    { addresses: "10.10.0.11,2001:db8::11", primary: "0.0.0.0", additional: "::" },
  ])("a proxy with $addresses listens on $primary and $additional", ({ addresses, primary, additional }) => {
    const [listener = {}] = generate([ports], { metadata: { INSTANCE_IPS: addresses } }).listeners;
    expect(listener.address?.socketAddress).toEqual({ address: primary, portValue: 15006 });
    expect(listener.additionalAddresses?.[0]?.address?.socketAddress?.address).toBe(additional);
  });
});

describe("ingress listeners of a Sidecar object", () => {
  test("replace what follows from the services", () => {
    const { listeners } = generate([workload("a", [[80, "HTTP"]]), sidecar(http(8000), http(7000))]);
    expect(portsOf(listeners[0])).toEqual([15006, 7000, 8000]);
  });

  test.each([
    { node: {}, ingress: { captureMode: "NONE" }, names: ["virtualInbound", "10.10.0.11_8000"] },
    { node: {}, ingress: { captureMode: "NONE", bind: "127.0.0.5" }, names: ["virtualInbound", "127.0.0.5_8000"] },
    { node: {}, ingress: { captureMode: "IPTABLES", bind: "127.0.0.5" }, names: ["virtualInbound"] },
    { node: { INTERCEPTION_MODE: "NONE" }, ingress: {}, names: ["10.10.0.11_8000"] },
    { node: { INTERCEPTION_MODE: "NONE" }, ingress: { bind: "127.0.0.11" }, names: ["127.0.0.11_8000"] },
  ])("$ingress on a node with $node gives $names", ({ node, ingress, names: expected }) => {
    const generated = generate([sidecar(http(8000, { defaultEndpoint: "127.0.0.1:9080", ...ingress }))], {
      metadata: node,
    });
    expect(names(generated)).toEqual(expected);
  });

  test("a bound one accepts what its mode says", () => {
    const { listeners } = generate([sidecar(http(8000, { bind: "127.0.0.11" }))], {
      metadata: { INTERCEPTION_MODE: "NONE" },
    });
    const [listener = {}] = listeners;
    expect(listener).toMatchObject({
      address: { socketAddress: { address: "127.0.0.11", portValue: 8000 } },
      trafficDirection: "INBOUND",
      listenerFilters: [{ name: "envoy.filters.listener.tls_inspector" }],
    });
    expect(listener.bindToPort).toBeUndefined();
    const call = (speaks: "http" | "tls") =>
      describeChain(chooseFilterChain(listener, { port: 8000, speaks, alpn: ["istio"] }));
    expect([call("http"), call("tls")]).toEqual(["http inbound|8000||", "mtls http inbound|8000||"]);
  });

  test.each([
    {
      what: "a port below 1024 without privileges",
      node: { UNPRIVILEGED_POD: "true" },
      port: 80,
      kind: "privileged-port",
    },
    { what: "a port of the proxy", node: {}, port: 15021, kind: "reserved-port" },
  ])("$what is left out and reported", ({ node, port, kind }) => {
    const generated = generate([sidecar(http(port, { captureMode: "NONE" }))], { metadata: node });
    expect(names(generated)).toEqual(["virtualInbound"]);
    expect(generated.conflicts).toMatchObject([{ kind, dropped: "default/own" }]);
  });

  test.each([
    { what: "redirected below 1024", ingress: {}, port: 80 },
    { what: "redirected from the statistics port", ingress: {}, port: 15090 },
  ])("a port $what binds nothing and is served", ({ ingress, port }) => {
    const { listeners, conflicts } = generate([sidecar(http(port, ingress))], {
      metadata: { UNPRIVILEGED_POD: "true" },
    });
    expect(portsOf(listeners[0])).toContain(port);
    expect(conflicts).toEqual([]);
  });
});

describe("TLS of an ingress listener's own", () => {
  const files = { serverCertificate: "/c.pem", privateKey: "/k.pem" };
  const own = (tls: object, protocol = "HTTPS") =>
    sidecar({ port: { number: 8443, protocol, name: "own" }, defaultEndpoint: "127.0.0.1:18443", tls });
  const call = (objects: readonly TestObject[], speaks: "tls" | "http") =>
    chooseFilterChain(generate(objects).listeners[0] ?? {}, { port: 8443, speaks, alpn: [] });
  const contextOf = (chain: FilterChain | undefined) =>
    chain?.transportSocket?.typedConfig as unknown as {
      requireClientCertificate?: boolean;
      commonTlsContext: {
        tlsParams: object;
        tlsCertificateSdsSecretConfigs: readonly { name: string }[];
        combinedValidationContext?: object;
      };
    };

  test("is ended here, and nothing else is accepted", () => {
    const objects = [own({ mode: "SIMPLE", ...files }), DISABLE];
    expect(describeChain(call(objects, "tls"))).toBe("mtls http inbound|8443||");
    expect(describeChain(call(objects, "http"))).toBe("no chain");
    const { commonTlsContext, requireClientCertificate } = contextOf(call(objects, "tls"));
    expect(requireClientCertificate).toBe(false);
    expect(commonTlsContext.tlsCertificateSdsSecretConfigs.map(({ name }) => name)).toEqual([
      "file-cert:/c.pem~/k.pem",
    ]);
    expect(commonTlsContext.combinedValidationContext).toBeUndefined();
  });

  test("a TLS port carries bytes once TLS is ended", () => {
    expect(describeChain(call([own({ mode: "SIMPLE", ...files }, "TLS"), DISABLE], "tls"))).toBe(
      "mtls tcp inbound|8443||",
    );
  });

  test("MUTUAL asks the client for a certificate of the given authority", () => {
    const tls = {
      mode: "MUTUAL",
      ...files,
      caCertificates: "/ca.pem",
      caCrl: "/crl.pem",
      minProtocolVersion: "TLSV1_3",
      cipherSuites: ["ECDHE-RSA-AES128-GCM-SHA256"],
    };
    expect(contextOf(call([own(tls), DISABLE], "tls"))).toMatchObject({
      requireClientCertificate: true,
      commonTlsContext: {
        tlsParams: { tlsMinimumProtocolVersion: "TLSv1_3", cipherSuites: ["ECDHE-RSA-AES128-GCM-SHA256"] },
        combinedValidationContext: {
          defaultValidationContext: {
            crl: { filename: "/crl.pem" },
          },
          validationContextSdsSecretConfig: { name: "file-root:/ca.pem" },
        },
      },
    });
  });

  test.each([
    { what: "the mesh's mode is not DISABLE", objects: [own({ mode: "SIMPLE", ...files })] },
    { what: "the application ends TLS", objects: [own({ mode: "PASSTHROUGH" }), DISABLE] },
  ])("is left alone when $what", ({ objects }) => {
    expect(describeChain(call(objects, "tls"))).toBe("tcp inbound|8443||");
  });
});

describe("settings of mesh and node", () => {
  const ports = workload("a", [
    [80, "HTTP"],
    [90, "TCP"],
  ]);
  const chain = (port: number, generated: ReturnType<typeof generate>, alpn = ["istio"]) =>
    chooseFilterChain(generated.listeners[0] ?? {}, { port, speaks: "tls", alpn });

  test("callers are workloads of the trust domain and its aliases", () => {
    const generated = generate([ports], {}, { meshYaml: "trustDomain: td\ntrustDomainAliases: [old]" });
    expect(chain(80, generated)?.transportSocket?.typedConfig).toMatchObject({
      requireClientCertificate: true,
      commonTlsContext: {
        alpnProtocols: ["h2", "http/1.1"],
        tlsCertificateSdsSecretConfigs: [{ name: "default" }],
        combinedValidationContext: {
          defaultValidationContext: {
            matchTypedSubjectAltNames: [
              { matcher: { prefix: "spiffe://td/" } },
              { matcher: { prefix: "spiffe://old/" } },
            ],
          },
          validationContextSdsSecretConfig: { name: "ROOTCA" },
        },
      },
    });
  });

  test("a proxy with files of its own uses them", () => {
    const metadata = { TLS_SERVER_CERT_CHAIN: "/c", TLS_SERVER_KEY: "/k", TLS_SERVER_ROOT_CERT: "/r" };
    expect(chain(80, generate([ports], { metadata }))?.transportSocket?.typedConfig).toMatchObject({
      commonTlsContext: {
        tlsCertificateSdsSecretConfigs: [{ name: "file-cert:/c~/k" }],
        combinedValidationContext: { validationContextSdsSecretConfig: { name: "file-root:/r" } },
      },
    });
  });

  test.each([
    { meshYaml: "", timeout: "1s" },
    { meshYaml: "protocolDetectionTimeout: 0s", timeout: "1s" },
    { meshYaml: "protocolDetectionTimeout: 0.25s", timeout: "0.25s" },
  ])("detection with $meshYaml ends after $timeout", ({ meshYaml, timeout }) => {
    expect(generate([ports], {}, { meshYaml }).listeners[0]).toMatchObject({
      listenerFiltersTimeout: timeout,
      continueOnListenerFiltersTimeout: true,
    });
  });

  test.each([
    { mode: "DEFAULT", rules: { normalizePath: true } },
    { mode: "NONE", rules: { normalizePath: false } },
    { mode: "BASE", rules: { normalizePath: true } },
    { mode: "MERGE_SLASHES", rules: { normalizePath: true, mergeSlashes: true } },
    {
      mode: "DECODE_AND_MERGE_SLASHES",
      rules: { normalizePath: true, mergeSlashes: true, pathWithEscapedSlashesAction: "UNESCAPE_AND_FORWARD" },
    },
  ])("path normalization $mode", ({ mode, rules }) => {
    const generated = generate([ports], {}, { meshYaml: `pathNormalization: {normalization: ${mode}}` });
    const { normalizePath, mergeSlashes, pathWithEscapedSlashesAction } = configOf(chain(80, generated));
    expect({ normalizePath, mergeSlashes, pathWithEscapedSlashesAction }).toEqual(rules);
  });

  test("access logs are on both layers and on the listener", () => {
    const generated = generate([ports], {}, { meshYaml: "accessLogFile: /dev/stdout" });
    expect(generated.listeners[0]?.accessLog).toMatchObject([{ filter: { responseFlagFilter: { flags: ["NR"] } } }]);
    for (const port of [80, 90]) expect(configOf(chain(port, generated)).accessLog).toHaveLength(1);
    expect(configOf(chain(15006, generated)).accessLog).toBeUndefined();
  });

  test("filters of security rules stand before all others", () => {
    const policies: InboundPolicies = {
      http: [{ name: "envoy.filters.http.jwt_authn" }, { name: "envoy.filters.http.rbac" }],
      network: [{ name: "envoy.filters.network.rbac" }],
      places: { http: { authn: 0, authz: 1 }, network: { authn: 0, authz: 0 } },
    };
    const generated = generate([ports], {}, { policies });
    expect(filterNames(configOf(chain(80, generated)))).toEqual(["jwt_authn", "rbac", "fault", "cors", "router"]);
    for (const port of [90, 5555]) {
      expect(chain(port, generated)?.filters?.map(({ name = "" }) => name.split(".").at(-1))).toEqual([
        "rbac",
        "tcp_proxy",
      ]);
    }
    expect(chain(15006, generated)?.filters).toHaveLength(1);
  });
});

describe("what a proxy wants of its HTTP managers", () => {
  const managerOf = (metadata: Readonly<Record<string, unknown>>, meshYaml?: string) => {
    const { listeners } = generate([workload("own", [[80, "HTTP"]])], { metadata }, meshYaml ? { meshYaml } : {});
    const chain = listeners[0]?.filterChains?.find(({ filterChainMatch }) => filterChainMatch?.destinationPort === 80);
    return chain?.filters?.at(-1)?.typedConfig;
  };
  const headers = (proxyHeaders: object) => JSON.stringify({ defaultConfig: { proxyHeaders } });

  test.each<{ what: string; metadata?: Readonly<Record<string, unknown>>; mesh?: object; has: object }>([
    { what: "nothing", has: { serverName: "istio-envoy", forwardClientCertDetails: "APPEND_FORWARD" } },
    { what: "HTTP/1.0", metadata: { HTTP10: "1" }, has: { httpProtocolOptions: { acceptHttp10: true } } },
    { what: "idle time", metadata: { IDLE_TIMEOUT: "9s" }, has: { commonHttpProtocolOptions: { idleTimeout: "9s" } } },
    { what: "a server name", mesh: { server: { value: "me" } }, has: { serverName: "me" } },
    { what: "its own", mesh: { server: { disabled: true } }, has: { serverHeaderTransformation: "PASS_THROUGH" } },
    { what: "no request id", mesh: { requestId: { disabled: true } }, has: { generateRequestId: false } },
    { what: "forwarded ports", mesh: { xForwardedPort: { enabled: true } }, has: { appendXForwardedPort: true } },
    {
      what: "forwarded certificates",
      mesh: { forwardedClientCert: "SANITIZE_SET", setCurrentClientCertDetails: { cert: true, uri: false } },
      has: {
        forwardClientCertDetails: "SANITIZE_SET",
        setCurrentClientCertDetails: { subject: true, dns: true, uri: false, cert: true },
      },
    },
  ])("$what", ({ metadata = {}, mesh, has }) => {
    expect(managerOf(metadata, mesh && headers(mesh))).toMatchObject(has);
  });

  test("what it says itself counts before the mesh", () => {
    const own = { PROXY_CONFIG: { proxyHeaders: { server: { value: "own" } } } };
    expect(managerOf(own, headers({ server: { value: "mesh" } }))).toMatchObject({ serverName: "own" });
    expect(managerOf({ PROXY_CONFIG: {} }, headers({ server: { value: "mesh" } }))).toMatchObject({
      serverName: "istio-envoy",
    });
  });
});
