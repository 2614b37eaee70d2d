import type { Kind } from "../../../src/istio-api/kinds.ts";
import type { TestNode } from "./create-test-mesh.ts";
import type { TestObject } from "./test-objects.ts";

/** Proxies of every sort: with and without a Sidecar object, a gateway, a program that speaks xDS itself. */
export const EVERY_SORT: readonly TestNode[] = [
  {
    name: "web-1",
    labels: { app: "web", version: "v1" },
    metadata: { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true" },
  },
  { name: "api-1", namespace: "prod", address: "10.10.0.12", labels: { app: "api", "istio-locality": "r1.z1" } },
  { name: "edge-1", type: "router", namespace: "istio-system", address: "10.10.9.1", labels: { app: "edge" } },
  { name: "grpc-1", namespace: "prod", address: "10.10.0.13", labels: { app: "web" }, metadata: { GENERATOR: "grpc" } },
];

const endpoint = (address: string, more: object = {}) => ({
  address,
  labels: { app: "web", version: "v1" },
  serviceAccount: "web",
  locality: "r1/z1",
  ...more,
});
const inMesh = { location: "MESH_INTERNAL", resolution: "STATIC" };
const http = { number: 80, name: "http", protocol: "HTTP" };
const tcp = { number: 90, name: "tcp", protocol: "TCP" };
const V2 = { labels: { app: "web", version: "v2" }, locality: "r2/z1" };
const KEYS = '{"keys":[{"kty":"oct","k":"YWJj"}]}';

/** What the objects of the kinds meet: services that they speak of, and workloads that they select. */
export const SERVICES: readonly TestObject[] = [
  service("a", "default", { addresses: ["10.96.0.1"], endpoints: [endpoint("10.10.0.11"), endpoint("10.10.1.2", V2)] }),
  service("b", "prod", { endpoints: [endpoint("10.10.0.12", { labels: { app: "api" } }), endpoint("10.10.1.4")] }),
  service("otel", "default", { endpoints: [endpoint("10.10.1.5")] }),
  {
    kind: "ServiceEntry",
    name: "names",
    spec: {
      hosts: ["names.example"],
      resolution: "DNS",
      ports: [http],
      endpoints: [{ address: "eu.example", locality: "r1/z1" }, { address: "us.example" }],
    },
  },
];

function service(name: string, namespace: string, more: object): TestObject {
  const hosts = [`${name}.${namespace}.svc.cluster.local`];
  return { kind: "ServiceEntry", name, namespace, spec: { hosts, ...inMesh, ports: [http, tcp], ...more } };
}

const route = { destination: { host: "a.default.svc.cluster.local", subset: "v1", port: { number: 80 } } };
const selector = { matchLabels: { app: "web" } };

/** An object of each kind, with members that others hang from. Fields of the kind are changed in it. */
export const BASES: Readonly<Record<Kind, readonly TestObject[]>> = {
  ServiceEntry: [
    {
      kind: "ServiceEntry",
      name: "base",
      spec: {
        hosts: ["base.default.svc.cluster.local"],
        addresses: ["10.96.0.9"],
        ...inMesh,
        ports: [http, tcp],
        endpoints: [endpoint("10.10.0.11", { ports: { http: 8080 } }), endpoint("10.10.3.2", V2)],
      },
    },
  ],
  WorkloadEntry: [
    {
      kind: "WorkloadEntry",
      name: "base",
      spec: { address: "10.10.0.11", labels: { app: "vm" }, serviceAccount: "vm" },
    },
  ],
  WorkloadGroup: [{ kind: "WorkloadGroup", name: "base", spec: { template: { serviceAccount: "vm" } } }],
  VirtualService: [
    {
      kind: "VirtualService",
      name: "base",
      spec: {
        hosts: ["a.default.svc.cluster.local"],
        gateways: ["mesh", "istio-system/gw"],
        http: [{ match: [{ uri: { prefix: "/v1" } }], route: [route] }, { route: [{ destination: { host: "a" } }] }],
      },
    },
    {
      kind: "VirtualService",
      name: "layer4",
      spec: {
        hosts: ["b.prod.svc.cluster.local"],
        tls: [{ match: [{ sniHosts: ["b.prod.svc.cluster.local"] }], route: [{ destination: { host: "a" } }] }],
        tcp: [{ match: [{ port: 90 }], route: [{ destination: { host: "a.default.svc.cluster.local" } }] }],
      },
    },
  ],
  DestinationRule: [
    {
      kind: "DestinationRule",
      name: "base",
      spec: {
        host: "a.default.svc.cluster.local",
        trafficPolicy: { outlierDetection: { consecutive5xxErrors: 5 } },
        subsets: [
          { name: "v1", labels: { version: "v1" } },
          { name: "v2", labels: { version: "v2" } },
        ],
      },
    },
    { kind: "DestinationRule", name: "names", spec: { host: "names.example" } },
  ],
  Sidecar: [
    {
      kind: "Sidecar",
      name: "base",
      spec: {
        egress: [{ hosts: ["./*", "prod/*", "istio-system/*"] }],
        ingress: [{ port: { number: 9090, name: "http", protocol: "HTTP" }, defaultEndpoint: "127.0.0.1:8080" }],
      },
    },
    {
      kind: "Sidecar",
      name: "tls",
      namespace: "prod",
      spec: {
        workloadSelector: { labels: { app: "api" } },
        ingress: [
          {
            port: { number: 9443, name: "https", protocol: "HTTPS" },
            defaultEndpoint: "127.0.0.1:8080",
            tls: { mode: "SIMPLE", serverCertificate: "/etc/a.pem", privateKey: "/etc/k.pem" },
          },
        ],
        outboundTrafficPolicy: { mode: "ALLOW_ANY" },
      },
    },
  ],
  Gateway: [
    {
      kind: "Gateway",
      name: "gw",
      namespace: "istio-system",
      spec: {
        selector: { app: "edge" },
        servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
      },
    },
    {
      kind: "Gateway",
      name: "tls",
      namespace: "istio-system",
      spec: {
        selector: { app: "edge" },
        servers: [
          {
            port: { number: 443, name: "https", protocol: "HTTPS" },
            hosts: ["*"],
            tls: { mode: "SIMPLE", credentialName: "cert" },
          },
        ],
      },
    },
  ],
  EnvoyFilter: [
    {
      kind: "EnvoyFilter",
      name: "base",
      namespace: "istio-system",
      spec: { configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: { altStatName: "x" } } }] },
    },
    {
      kind: "EnvoyFilter",
      name: "filter",
      spec: {
        configPatches: [
          {
            applyTo: "HTTP_FILTER",
            match: { listener: { filterChain: { filter: { name: "envoy.filters.network.http_connection_manager" } } } },
            patch: { operation: "INSERT_BEFORE", value: { name: "x", disabled: true } },
          },
        ],
      },
    },
    {
      kind: "EnvoyFilter",
      name: "route",
      spec: {
        configPatches: [
          {
            applyTo: "VIRTUAL_HOST",
            match: { routeConfiguration: { vhost: { name: "a.default.svc.cluster.local:80" } } },
            patch: { operation: "MERGE", value: { includeAttemptCountInResponse: true } },
          },
        ],
      },
    },
  ],
  ProxyConfig: [{ kind: "ProxyConfig", name: "base", spec: { concurrency: 1 } }],
  PeerAuthentication: [
    { kind: "PeerAuthentication", name: "base", spec: { selector, mtls: { mode: "PERMISSIVE" } } },
    { kind: "PeerAuthentication", name: "mesh", namespace: "istio-system", spec: { mtls: { mode: "PERMISSIVE" } } },
  ],
  RequestAuthentication: ["default", "istio-system"].map((namespace) => ({
    kind: "RequestAuthentication",
    name: "base",
    namespace,
    spec: { jwtRules: [{ issuer: "https://a.example", jwks: KEYS }] },
  })),
  AuthorizationPolicy: ["default", "istio-system"].map((namespace) => ({
    kind: "AuthorizationPolicy",
    name: "base",
    namespace,
    spec: {
      action: "ALLOW",
      rules: [
        {
          from: [{ source: { namespaces: ["default"] } }],
          to: [{ operation: { methods: ["GET"] } }],
          when: [{ key: "request.headers[x-a]", values: ["a"] }],
        },
      ],
    },
  })),
  WasmPlugin: ["default", "istio-system"].map((namespace) => ({
    kind: "WasmPlugin",
    name: "base",
    namespace,
    spec: { url: "oci://registry.example/a:v1", vmConfig: { env: [{ name: "A", value: "1" }] } },
  })),
  Telemetry: ["default", "istio-system"].map((namespace) => ({
    kind: "Telemetry",
    name: "base",
    namespace,
    spec: { accessLogging: [{ providers: [{ name: "envoy" }] }] },
  })),
};

/** A workload that an entry of a machine joins. */
export const SELECTING: TestObject = {
  kind: "ServiceEntry",
  name: "vm",
  spec: {
    hosts: ["vm.default.svc.cluster.local"],
    ...inMesh,
    ports: [http],
    workloadSelector: { labels: { app: "vm" } },
  },
};
