import { destinationRule, documents, type TestObject } from "../mesh-model/test-objects.ts";
import { entry } from "./listeners.ts";

const PORTS = "80/HTTP 81/HTTP2 82/GRPC 83/GRPC-Web 84/TCP 85/TLS 86/HTTPS 87/Mongo 88/MySQL 89/Redis 90/ 91/UDP";
const rule = (name: string, spec: object): TestObject => ({ kind: "VirtualService", name, spec: { ...spec } });
const to = (host: string, more: object = {}) => ({ destination: { host, ...more } });

/** Services of every protocol under every kind of address, on ports that they share. */
const SERVICES = [
  entry("own", PORTS, { endpoints: [{ address: "10.10.0.11", serviceAccount: "own" }] }),
  entry("vip", PORTS, { addresses: ["10.96.0.1", "2001:db8::1"] }),
  entry("range", PORTS, { addresses: ["10.97.0.0/16", "10.98.1.2/24", "2001:db8:1::/48"] }),
  entry("dns", PORTS, { resolution: "DNS", location: "MESH_EXTERNAL" }),
  entry("*.wild.example", PORTS, { resolution: "NONE", location: "MESH_EXTERNAL" }),
  entry("headless", PORTS, { resolution: "NONE", workloadSelector: { labels: { app: "pet" } } }),
  { kind: "WorkloadEntry", name: "pet", spec: { address: "10.10.3.1", labels: { app: "pet" } } },
  { kind: "WorkloadEntry", name: "pet6", spec: { address: "2001:db8:3::1", labels: { app: "pet" } } },
] satisfies readonly TestObject[];

const RULES = [
  rule("tcp", {
    hosts: ["vip.example", "range.example"],
    tcp: [
      {
        match: [{ port: 84, destinationSubnets: ["10.96.0.0/24", "10.96.0.9/24", "2001:db8::/32"] }],
        route: [to("vip.example", { subset: "v1" })],
      },
      {
        match: [{ port: 90, sourceLabels: { app: "web" } }],
        route: [
          { ...to("vip.example", { subset: "v1" }), weight: 70 },
          { ...to("dns.example", { port: { number: 84 } }), weight: 30 },
        ],
      },
      { match: [{ destinationSubnets: ["10.97.0.0/16"] }], route: [to("vip.example")] },
    ],
  }),
  rule("tls", {
    hosts: ["dns.example", "*.dns.example", "vip.example"],
    tls: [
      { match: [{ sniHosts: ["dns.example", "A.dns.example"] }], route: [to("dns.example")] },
      { match: [{ sniHosts: ["a.dns.example"], port: 85 }], route: [to("vip.example")] },
      { match: [{ sniHosts: ["*.dns.example"], destinationSubnets: ["10.96.0.0/24"] }], route: [to("vip.example")] },
      { match: [{ sniHosts: ["vip.example"] }], route: [to("vip.example", { subset: "v1" })] },
    ],
  }),
  rule("outside", {
    hosts: ["outside.test", "*.outside.test"],
    tls: [
      { match: [{ sniHosts: ["outside.test", "*.outside.test"] }], route: [to("dns.example")] },
      { match: [{ sniHosts: ["x.outside.test"], port: 85 }], route: [to("dns.example")] },
    ],
  }),
  destinationRule("vip", "vip.example", {
    trafficPolicy: {
      connectionPool: { tcp: { idleTimeout: "60s", maxConnectionDuration: "1h" } },
      loadBalancer: { consistentHash: { useSourceIp: true } },
      tunnel: { protocol: "POST", targetHost: "target.example", targetPort: 443 },
    },
    subsets: [{ name: "v1", labels: { version: "v1" } }],
  }),
];

const MODES: readonly TestObject[] = [
  {
    kind: "PeerAuthentication",
    name: "ports",
    spec: {
      selector: { matchLabels: { app: "web" } },
      mtls: { mode: "DISABLE" },
      portLevelMtls: { 84: { mode: "STRICT" }, 90: { mode: "PERMISSIVE" }, 7777: { mode: "STRICT" } },
    },
  },
];

const tls = (mode: string, more: object = {}) => ({
  mode,
  serverCertificate: "/etc/c.pem",
  privateKey: "/etc/k.pem",
  caCertificates: "/etc/ca.pem",
  ...more,
});
const ingress = (number: number, protocol: string, more: object = {}) => ({
  port: { number, protocol, name: "p" },
  defaultEndpoint: `127.0.0.1:${number + 1000}`,
  ...more,
});
const SIDECAR: TestObject = {
  kind: "Sidecar",
  name: "own",
  spec: {
    workloadSelector: { labels: { app: "web" } },
    ingress: [
      ingress(8000, "HTTP"),
      ingress(8001, "TCP", { bind: "127.0.0.7", captureMode: "NONE" }),
      ingress(8002, "GRPC", { captureMode: "NONE" }),
      ingress(8443, "HTTPS", { tls: tls("SIMPLE") }),
      ingress(8444, "TLS", {
        tls: tls("MUTUAL", { minProtocolVersion: "TLSV1_3" }),
      }),
      ingress(8445, "HTTPS", { tls: tls("OPTIONAL_MUTUAL") }),
    ],
    egress: [
      { port: { number: 80, protocol: "HTTP", name: "p" }, bind: "127.0.0.5", captureMode: "NONE", hosts: ["./*"] },
      { port: { number: 84, protocol: "TCP", name: "p" }, hosts: ["./*"] },
      { port: { number: 0, protocol: "HTTP", name: "p" }, bind: "unix:///tmp/egress.sock", hosts: ["./*"] },
      {
        port: { number: 90, protocol: "HTTP_PROXY", name: "p" },
        bind: "127.0.0.1",
        captureMode: "NONE",
        hosts: ["./*"],
      },
      { hosts: ["*/*"] },
    ],
    outboundTrafficPolicy: { mode: "ALLOW_ANY", egressProxy: { host: "vip.example", port: { number: 84 } } },
  },
};

/** Meshes that together have every shape of listener and chain. */
export const EVERY_LISTENER_YAML: readonly string[] = [
  documents(...SERVICES, ...RULES),
  documents(...SERVICES, ...RULES, ...MODES, SIDECAR),
];
