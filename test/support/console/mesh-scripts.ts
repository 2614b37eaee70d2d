import type {
  GraphEdge,
  GraphHistory,
  GraphNode,
  GraphSnapshot,
  ObjectDetail,
  RequestLine,
  Session,
  WorkloadDetail,
  WorkloadSummary,
} from "../../../src/console/api.ts";
import { ACTION_KINDS } from "../../../src/console/core/plan-action.ts";
import type { ConsoleScript } from "./scripted-console.ts";

const identity = (account: string) => `spiffe://cluster.local/ns/shop/sa/${account}`;

export function graphNode(id: string, more: Partial<GraphNode> = {}): GraphNode {
  return { id, kind: "service", label: id, namespace: "shop", workloads: [], ready: 1, reasons: [], ...more };
}

export function graphEdge(from: string, to: string, more: Partial<GraphEdge> = {}): GraphEdge {
  return {
    id: `${from}>${to}`,
    from,
    to,
    protocol: "http",
    rps: 10,
    errorShare: 0,
    clientErrorShare: 0,
    faultShare: 0,
    p50Ms: 3.2,
    p99Ms: 11,
    connectionsPerSecond: 0,
    openConnections: 2,
    sentBytesPerSecond: 2400,
    receivedBytesPerSecond: 5200,
    mtlsShare: 1,
    retriesPerSecond: 0,
    overflowsPerSecond: 0,
    ...more,
  };
}

function service(name: string, more: Partial<GraphNode> = {}): GraphNode {
  return graphNode(`service/${name}`, {
    label: name,
    service: name,
    host: `${name}.shop.svc.cluster.local`,
    workloads: [name],
    identities: [identity(name)],
    ...more,
  });
}

function version(of: string, label: string): GraphNode {
  return graphNode(`version/${of}/${label}`, {
    kind: "version",
    label,
    service: of,
    version: label,
    parent: `service/${of}`,
    workloads: [`${of}-${label}`],
    identities: [identity(of)],
  });
}

/** The demo's shop, with a gateway, a host outside and a database besides. */
export function shopGraph(weights: readonly number[] = [80, 20, 0]): GraphSnapshot {
  const nodes = [
    graphNode("gateway/ingress", { kind: "gateway", label: "ingress", workloads: ["ingress"] }),
    graphNode("workload/load", { kind: "workload", label: "load", workloads: ["load"] }),
    service("front", { entry: true, protocol: "http" }),
    service("catalogue", { workloads: [], versions: ["v1", "v2", "v3"] }),
    ...["v1", "v2", "v3"].map((label) => version("catalogue", label)),
    service("stock"),
    service("prices", { protocol: "grpc" }),
    service("database", { protocol: "tcp" }),
    graphNode("external/rates.example.com", { kind: "external", label: "rates.example.com", namespace: "" }),
  ];
  const edges = [
    graphEdge("gateway/ingress", "service/front", { rps: 4.2, p50Ms: 8, p99Ms: 31 }),
    graphEdge("workload/load", "service/front", { rps: 9.8, p50Ms: 7.4, p99Ms: 24 }),
    ...weights.map((weight, index) =>
      graphEdge("service/front", `version/catalogue/v${index + 1}`, { rps: 14 * (weight / 100), weight }),
    ),
    graphEdge("service/front", "service/stock", { rps: 14, errorShare: 0.48, faultShare: 0.48 }),
    graphEdge("service/front", "service/prices", { rps: 14, p50Ms: 1.4, p99Ms: 5.1 }),
    graphEdge("service/stock", "service/database", { protocol: "tcp", rps: 0, openConnections: 6 }),
    graphEdge("service/prices", "external/rates.example.com", { rps: 1.1, p50Ms: 41, p99Ms: 180 }),
  ].map((edge) => {
    const { mtlsShare: _, ...plain } = edge;
    return edge.to.startsWith("external") ? plain : edge;
  });
  return { at: Date.now(), windowMs: 10_000, nodes, edges, stale: [] };
}

/** As many services and edges as asked for, in layers, the same each time. */
export function generatedGraph(services: number, edges: number, turn = 0): GraphSnapshot {
  const namespaces = ["shop", "pay", "data"];
  const nodes = Array.from({ length: services }, (_, index) => {
    const name = `svc-${String(index).padStart(2, "0")}`;
    return service(name, { namespace: namespaces[index % 3] ?? "shop" });
  });
  const pairs = new Set<string>();
  for (let step = 0; pairs.size < edges; step++) {
    const from = (step * 7) % (services - 1);
    const to = from + 1 + ((step * 13) % Math.min(14, services - from - 1));
    pairs.add(`${from} ${to}`);
  }
  return {
    at: Date.now(),
    windowMs: 10_000,
    nodes,
    edges: [...pairs].map((pair, index) => {
      const [from = 0, to = 0] = pair.split(" ").map(Number);
      const rps = 1 + ((index * 17 + turn * 5) % 90);
      return graphEdge(nodes[from]?.id ?? "", nodes[to]?.id ?? "", { rps, errorShare: index % 23 === 0 ? 0.2 : 0 });
    }),
    stale: [],
  };
}

const part = (pid: number, restarts = 0) => ({
  phase: "running" as const,
  pid,
  sinceAt: Date.now() - 192_000,
  restarts,
});

function summary(name: string, more: Partial<WorkloadSummary> = {}): WorkloadSummary {
  const pid = 4000 + name.length * 31;
  return {
    id: name,
    name,
    namespace: "shop",
    service: name,
    kind: "sidecar",
    address: "198.18.0.7",
    ready: true,
    reasons: [],
    app: part(pid),
    agent: part(pid + 1),
    envoy: part(pid + 2, 1),
    ...more,
  };
}

const HOUR = 3_600_000;

function detail(name: string): WorkloadDetail {
  const now = Date.now();
  const certificate = (subject: string, names: readonly string[], hours: number) => ({
    subject,
    issuer: "O=cluster.local",
    names,
    serial: "5f:3a:09:11",
    notBeforeAt: now - 5 * HOUR,
    notAfterAt: now + hours * HOUR,
    fingerprint: "9d1c44c0aa27de31b1f0b7f2a2e5a3d0f5c1aa0d1a8d8b0f4f6f5b0e8c2d7e61",
  });
  const type = (short: string, resources: number) => ({
    type: short,
    typeUrl: `type.googleapis.com/${short}`,
    version: "b41f09c2e7aa",
    resources,
    state: "acked" as const,
    changedAt: now - 64_000,
  });
  return {
    ...summary(name),
    at: now,
    labels: { app: name, version: "v1" },
    serviceAccount: name,
    identity: identity(name),
    ports: [
      { name: "http", port: 8480 },
      { name: "status", port: 15_020 },
    ],
    agentVersion: "0.1.0",
    envoyState: {
      state: "LIVE",
      version: "1.40.0",
      upMs: 192_000,
      concurrency: 2,
      allocatedBytes: 9_400_000,
      openConnections: 12,
    },
    restarts: [{ at: now - 192_000, part: "envoy", reason: "ended by SIGKILL" }],
    certificates: {
      chain: [certificate("", [identity(name)], 19)],
      roots: [certificate("O=cluster.local", [], 80_000)],
      rotationAt: now + 7 * HOUR,
      phase: "available",
      errors: [
        {
          message: "CA 198.18.0.1:15012: connection refused",
          at: now - 240_000,
          sinceAt: now - 300_000,
          count: 7,
          isCurrent: false,
        },
      ],
    },
    xds: {
      connected: true,
      upstream: "198.18.0.1:15012",
      connectedAt: now - 192_000,
      types: [
        type("CDS", 14),
        type("LDS", 6),
        { ...type("RDS", 4), state: "nacked", nackText: "route: unknown cluster 'outbound|80||gone'" },
        type("EDS", 9),
        type("NDS", 1),
      ],
    },
    clusters: [
      {
        name: "outbound|8480|v2|catalogue.shop.svc.cluster.local",
        label: "catalogue v2 port 8480",
        direction: "outbound",
        type: "EDS",
        endpoints: [
          {
            address: "198.18.0.9:8480",
            health: "healthy",
            isHealthy: true,
            weight: 1,
            requests: 812,
            errors: 0,
            openConnections: 2,
            origins: [{ kind: "WorkloadEntry", namespace: "shop", name: "catalogue-v2", isListed: true }],
          },
        ],
        origins: [
          { kind: "ServiceEntry", namespace: "shop", name: "catalogue", isListed: false },
          { kind: "DestinationRule", namespace: "shop", name: "catalogue", isListed: true },
        ],
      },
    ],
    listeners: [
      {
        name: "virtualOutbound",
        address: "0.0.0.0:15001",
        direction: "outbound",
        chains: ["TCP -> as addressed"],
        origins: [],
        parts: [],
      },
      {
        name: "virtualInbound",
        address: "0.0.0.0:15006",
        direction: "inbound",
        chains: ["TLS, port 8480 -> HTTP, routes of its own (inbound|8480||), callers checked"],
        origins: [],
        parts: [
          {
            text: "mutual TLS port 8480",
            origins: [{ kind: "PeerAuthentication", namespace: "shop", name: "default", isListed: true }],
          },
        ],
      },
    ],
    routes: [
      {
        name: "8480",
        hosts: [
          {
            name: "catalogue.shop.svc.cluster.local:8480",
            domains: ["catalogue.shop.svc.cluster.local", "catalogue"],
            rules: [
              {
                text: "any request -> catalogue v1 (80%), catalogue v2 (20%)",
                origins: [RULE_ORIGIN, { ...RULE_ORIGIN, name: "older", overruledBy: "VirtualService shop/catalogue" }],
              },
            ],
            origins: [RULE_ORIGIN],
          },
        ],
      },
    ],
    dns: [{ name: "catalogue.shop.svc.cluster.local", addresses: ["240.240.0.3"] }],
    capture: ["All TCP that leaves the program goes to port 15001", "All TCP that comes in goes to port 15006"],
    missing: {},
  };
}

const RULE_ORIGIN = {
  kind: "VirtualService",
  namespace: "shop",
  name: "catalogue",
  source: { file: "mesh.yaml", line: 24 },
  isListed: true,
};

const ROUTES = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: catalogue
  namespace: shop
spec:
  hosts: [catalogue.shop.svc.cluster.local]
  http:
    - timeout: 2s   # callers give up after this
      route:
        - destination: {host: catalogue, subset: v1}
          weight: 80
        - destination: {host: catalogue, subset: v2}
          weight: 20
`;

const SUBSETS = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata:
  name: catalogue
  namespace: shop
spec:
  host: catalogue.shop.svc.cluster.local
  subsets:
    - {name: v1, labels: {version: v1}}
    - {name: v2, labels: {version: v2}}
    - {name: v3, labels: {version: v3}}
`;

const STRICT = `apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata:
  name: default
  namespace: shop
spec:
  mtls: {mode: STRICT}
`;

const RULES: Readonly<Record<string, string>> = {
  VirtualService: ROUTES,
  DestinationRule: SUBSETS,
  PeerAuthentication: STRICT,
};

function object(kind: string, name: string, more: Partial<ObjectDetail> = {}): ObjectDetail {
  const yaml = (RULES[kind] ?? "").replaceAll("catalogue", name);
  return {
    kind,
    apiVersion: yaml.slice(0, yaml.indexOf("\n")).replace("apiVersion: ", ""),
    namespace: "shop",
    name,
    origin: "file",
    editable: true,
    overrides: false,
    source: { file: "mesh.yaml", line: 24 },
    problems: [],
    yaml,
    ...more,
  };
}

function requestLine(index: number): RequestLine {
  const failed = index % 5 === 2;
  return {
    at: Date.now() - index * 137,
    workload: "front",
    direction: "outbound",
    method: "GET",
    path: failed ? "/stock" : "/catalogue?page=1",
    protocol: "HTTP/1.1",
    status: failed ? 503 : 200,
    flags: failed ? "FI" : "",
    flagText: failed ? "answered by a fault rule" : "",
    durationMs: failed ? 0.6 : 4.1 + index,
    sentBytes: 210,
    receivedBytes: 64,
    host: failed ? "stock:8480" : "catalogue:8480",
    service: failed ? "stock" : "catalogue",
    ...(failed ? {} : { version: "v1" }),
    caller: identity("front"),
    requestId: `7c1e-${index}`,
  };
}

/** Ten minutes of the shop with a fault in the fourth. */
function shopHistory(): GraphHistory {
  const { nodes, edges, at } = shopGraph();
  const frames = Array.from({ length: 300 }, (_, index) => {
    const time = at - (300 - index) * 2000;
    const wave = 1 + 0.18 * Math.sin(index / 9) + 0.07 * Math.sin(index / 2.3);
    const fault = index > 100 && index < 150 ? 0.5 : index > 280 ? 0.48 : 0;
    return {
      at: time,
      values: edges.map((edge) => [edge.rps * wave, edge.to === "service/stock" ? fault : 0, 3, 11]),
    };
  });
  return {
    fromAt: at - 600_000,
    toAt: at,
    nodes,
    edges: edges.map(({ id, from, to, protocol }) => ({ id, from, to, protocol })),
    columns: ["rps", "errorShare", "p50Ms", "p99Ms"],
    frames,
    marks: [
      { at: at - 400_000, text: "50% of stock fails", kind: "action" },
      { at: at - 300_000, text: "undone: 50% of stock fails", kind: "undo" },
      { at: at - 192_000, text: "Envoy of front restarted", kind: "restart" },
      { at: at - 40_000, text: "50% of stock fails", kind: "action" },
    ],
  };
}

/** Everything the page can show, of one shop. */
export function shopScript(): ConsoleScript {
  const now = Date.now();
  const session: Session = {
    version: "0.1.0",
    scope: "mesh",
    name: "shop",
    namespace: "shop",
    startedAt: now - 600_000,
    now,
    intervalMs: 1000,
    historyMs: 600_000,
    features: {
      graph: true,
      actions: ACTION_KINDS,
      objects: true,
      editing: true,
      logs: true,
      logLevels: true,
      requests: true,
    },
    entries: { front: "http://127.0.0.1:8480/" },
  };
  const names = ["front", "stock", "prices", "database", "load", "ingress"];
  const versions = ["v1", "v2", "v3"].map((label) =>
    summary(`catalogue-${label}`, { service: "catalogue", version: label }),
  );
  return {
    session,
    graph: shopGraph(),
    state: {
      at: now,
      controlPlane: { phase: "running", pid: 3921, sinceAt: now - 600_000, restarts: 0 },
      workloads: [...names.map((name) => summary(name)), ...versions],
      problems: [],
    },
    actions: { actions: [] },
    history: shopHistory(),
    workloads: Object.fromEntries(names.map((name) => [name, detail(name)])),
    objects: [
      object("VirtualService", "catalogue"),
      object("DestinationRule", "catalogue"),
      object("PeerAuthentication", "default", { origin: "generated", editable: false }),
      object("VirtualService", "stock", {
        origin: "applied",
        problems: [{ severity: "warning", message: "no such subset: v9", line: 12, code: "IST0101" }],
      }),
    ],
    requests: Array.from({ length: 24 }, (_, index) => requestLine(index)),
    logs: ["2026-11-17T19:00:00Z info Envoy started", "2026-11-17T19:00:01Z warning connection refused"],
    problemsOf: (yaml) => {
      const lines = yaml.split("\n");
      const line = lines.findIndex((text) => /timeout:\s*soon/.test(text)) + 1;
      const message = 'spec.http[0].timeout: "soon" is no duration; allowed are values such as 2s or 100ms';
      return line === 0 ? [] : [{ severity: "error", message, field: "spec.http[0].timeout", line, column: 16 }];
    },
  };
}
