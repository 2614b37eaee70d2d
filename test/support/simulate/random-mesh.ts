import type { RandomSource } from "./random-source.ts";

/** Workloads with a proxy behind the services, and one without. */
export const SERVERS = { v1: "10.10.2.1", v2: "10.10.2.2", plain: "10.10.3.1" } as const;
export const CLIENT = { name: "client", address: "10.10.1.1" } as const;
export const VIPS = { a: "10.96.0.10", b: "10.96.0.11", empty: "10.96.0.12", marker: "10.96.0.13" } as const;
export const PORTS = { http: 9002, tcp: 9001 } as const;
export const hostOf = (name: string) => `${name}.default.svc.cluster.local`;

type Labels = Readonly<Record<string, string>>;
const SERVER_LABELS = { v1: { app: "a", version: "v1" }, v2: { app: "a", version: "v2" } } as const;
export const labelsOf = (version: "v1" | "v2"): Labels => SERVER_LABELS[version];

function object(kind: string, name: string, spec: object): object {
  const group = ["AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication"].includes(kind)
    ? "security"
    : "networking";
  return { apiVersion: `${group}.istio.io/v1`, kind, metadata: { name, namespace: "default" }, spec };
}

const meshed = (version: "v1" | "v2") => ({
  address: SERVERS[version],
  serviceAccount: version,
  labels: SERVER_LABELS[version],
});
const PORT_LIST = [
  { number: 80, name: "http", protocol: "HTTP", targetPort: PORTS.http },
  { number: 9001, name: "tcp", protocol: "TCP", targetPort: PORTS.tcp },
  { number: 9003, name: "any", targetPort: PORTS.http },
];

function service(name: keyof typeof VIPS, endpoints: readonly object[], ports: readonly object[] = PORT_LIST): object {
  const spec = { hosts: [hostOf(name)], addresses: [VIPS[name]], location: "MESH_INTERNAL", resolution: "STATIC" };
  return object("ServiceEntry", name, { ...spec, ports, endpoints });
}

const SERVICES = [
  service("a", [meshed("v1"), meshed("v2")]),
  service("b", [meshed("v2"), { address: SERVERS.plain, labels: { app: "b" } }]),
  service("empty", []),
  service("marker", [], [{ number: 80, name: "http", protocol: "HTTP", targetPort: 80 }]),
  object("ServiceEntry", "outside", {
    hosts: ["outside.example"],
    location: "MESH_EXTERNAL",
    resolution: "STATIC",
    ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: PORTS.http }],
    endpoints: [{ address: SERVERS.plain }],
  }),
];

/** All of one round: services that are always there, rules that are drawn, and marks by which a proxy shows that it has them. */
export function randomMesh(random: RandomSource, round: number, keys: string): readonly object[] {
  return [
    ...SERVICES,
    object("VirtualService", "marker", {
      hosts: [hostOf("marker")],
      http: [{ directResponse: { status: 200, body: { string: `round-${round}` } } }],
    }),
    object("AuthorizationPolicy", `mark-${round}`, {
      action: "DENY",
      rules: [{ to: [{ operation: { paths: [`/mark-${round}`] } }] }],
    }),
    ...(random.chance(0.9) ? [virtualService(random, "a")] : []),
    ...(random.chance(0.4) ? [virtualService(random, "b")] : []),
    ...(random.chance(0.3) ? [virtualService(random, "outside")] : []),
    destinationRule(random, "a"),
    destinationRule(random, "b"),
    object("DestinationRule", "outside", { host: "outside.example", trafficPolicy: UNPOOLED }),
    ...(random.chance(0.4) ? [sidecar(random)] : []),
    ...peerAuthentications(random),
    ...policies(random),
    ...(random.chance(0.5) ? [tokens(random, keys)] : []),
  ];
}

/** A connection keeps the rules under which it was opened, so that each request gets its own. */
const UNPOOLED = { connectionPool: { http: { maxRequestsPerConnection: 1 } } };

function destinationRule(random: RandomSource, name: "a" | "b"): object {
  const tls = random.chance(0.25) ? { tls: { mode: random.pick(["DISABLE", "ISTIO_MUTUAL"]) } } : {};
  const locality = random.chance(0.2) ? { loadBalancer: { simple: random.pick(["ROUND_ROBIN", "RANDOM"]) } } : {};
  return object("DestinationRule", name, {
    host: hostOf(name),
    trafficPolicy: { ...UNPOOLED, ...tls, ...locality },
    subsets: ["v1", "v2", "v3"].map((version) => ({ name: version, labels: { version } })),
  });
}

const PATHS = ["/", "/a", "/a/b", "/ab", "/x", "/A", "/api/v1/users"] as const;
export const USERS = ["alice", "bob", "al", ""] as const;

function stringMatch(random: RandomSource, values: readonly string[]): object {
  const value = random.pick(values) || "x";
  return random.pick([{ exact: value }, { prefix: value }, { regex: `${value}.*` }, { regex: `.*${value.slice(-1)}` }]);
}

function match(random: RandomSource): object {
  return {
    ...(random.chance(0.7) && { uri: stringMatch(random, PATHS) }),
    ...(random.chance(0.15) && { ignoreUriCase: true }),
    ...(random.chance(0.3) && { headers: { "x-user": random.chance(0.2) ? {} : stringMatch(random, USERS) } }),
    ...(random.chance(0.15) && { withoutHeaders: { "x-user": random.chance(0.4) ? {} : stringMatch(random, USERS) } }),
    ...(random.chance(0.2) && { queryParams: { q: stringMatch(random, ["1", "12"]) } }),
    ...(random.chance(0.2) && { method: { exact: random.pick(["GET", "POST"]) } }),
    ...(random.chance(0.1) && { authority: stringMatch(random, [hostOf("a"), "a"]) }),
    ...(random.chance(0.1) && { port: random.pick([80, 9003]) }),
    ...(random.chance(0.1) && { sourceLabels: { app: random.pick(["client", "other"]) } }),
  };
}

function destinations(random: RandomSource): readonly object[] {
  const target = () => {
    const host = random.pick([hostOf("a"), hostOf("a"), hostOf("b"), hostOf("empty"), "nowhere.example"]);
    const subset =
      host === hostOf("a") && random.chance(0.6) ? { subset: random.pick(["v1", "v2", "v3", "unknown"]) } : {};
    return { destination: { host, ...subset, port: { number: 80 } } };
  };
  if (random.chance(0.6)) return [target()];
  return [
    { ...target(), weight: random.pick([0, 20, 100]) },
    {
      ...target(),
      weight: random.pick([50, 80]),
      ...(random.chance(0.5) && { headers: { request: { set: { "x-split": "second" } } } }),
    },
  ];
}

function action(random: RandomSource): object {
  const kind = random.next();
  if (kind < 0.1) return { redirect: { uri: "/moved", redirectCode: random.pick([301, 302, 307]) } };
  if (kind < 0.2)
    return { directResponse: { status: random.pick([200, 418, 503]), body: { string: "said by a rule" } } };
  return {
    route: destinations(random),
    ...(random.chance(0.25) && {
      rewrite: random.pick([
        { uri: "/rewritten" },
        { authority: "other.example" },
        { uriRegexRewrite: { match: "^/a", rewrite: "/w\\0" } },
      ]),
    }),
    ...(random.chance(0.2) && { fault: fault(random) }),
    ...(random.chance(0.2) && { timeout: "5s" }),
    ...(random.chance(0.3) && { retries: { attempts: random.pick([0, 1, 2]) } }),
    ...(random.chance(0.25) && {
      headers: {
        request: random.pick([{ set: { "x-user": "alice" } }, { add: { "x-user": "added" } }, { remove: ["x-user"] }]),
      },
    }),
    ...(random.chance(0.15) && {
      corsPolicy: { allowOrigins: [{ exact: "https://good.example" }], allowMethods: ["GET"] },
    }),
  };
}

/** One of both at least: nothing at all would be refused. */
function fault(random: RandomSource): object {
  const share = () => ({ percentage: { value: random.pick([0, 50, 100, 100]) } });
  const abort = { abort: { httpStatus: random.pick([400, 503]), ...share() } };
  const delay = { delay: { fixedDelay: "0.005s", ...share() } };
  return random.pick([abort, delay, { ...abort, ...delay }]);
}

function virtualService(random: RandomSource, name: "a" | "b" | "outside"): object {
  const host = name === "outside" ? "outside.example" : hostOf(name);
  const http = Array.from({ length: random.between(1, 4) }, () => ({
    ...(random.chance(0.8) && { match: Array.from({ length: random.between(1, 2) }, () => match(random)) }),
    ...action(random),
  }));
  const tcp = [
    {
      match: [{ port: 9001 }],
      route: [{ destination: { host, subset: random.pick(["v1", "v2", "v3"]), port: { number: 9001 } } }],
    },
  ];
  return object("VirtualService", name, { hosts: [host], http, ...(name === "a" && random.chance(0.4) && { tcp }) });
}

/** Everything of the own namespace, or less. */
function sidecar(random: RandomSource): object {
  const hosts = random.pick([["./*"], [`./${hostOf("a")}`, `./${hostOf("marker")}`], ["*/*"]]);
  return object("Sidecar", "client", {
    workloadSelector: { labels: { app: "client" } },
    egress: [{ hosts }],
    outboundTrafficPolicy: { mode: random.pick(["REGISTRY_ONLY", "ALLOW_ANY"]) },
  });
}

const MODES = ["STRICT", "PERMISSIVE", "DISABLE", "UNSET"] as const;

function peerAuthentications(random: RandomSource): readonly object[] {
  const mtls = () => ({ mtls: { mode: random.pick(MODES) } });
  const selector = { selector: { matchLabels: { version: random.pick(["v1", "v2"]) } } };
  const ports = random.chance(0.4) ? { portLevelMtls: { [PORTS.http]: { mode: random.pick(MODES) } } } : {};
  return [
    ...(random.chance(0.4) ? [object("PeerAuthentication", "default", mtls())] : []),
    ...(random.chance(0.4) ? [object("PeerAuthentication", "workload", { ...selector, ...mtls(), ...ports })] : []),
  ];
}

const PRINCIPALS = ["cluster.local/ns/default/sa/client", "*/sa/client", "cluster.local/ns/default/sa/other"] as const;

function policies(random: RandomSource): readonly object[] {
  return Array.from({ length: random.pick([0, 0, 1, 1, 2]) }, (_, index) =>
    object("AuthorizationPolicy", `policy-${index}`, {
      ...(random.chance(0.5) && { selector: { matchLabels: { version: random.pick(["v1", "v2"]) } } }),
      action: random.pick(["ALLOW", "ALLOW", "DENY"]),
      rules: Array.from({ length: random.between(1, 2) }, () => rule(random)),
    }),
  );
}

function rule(random: RandomSource): object {
  const source = random.pick<object>([
    { principals: [random.pick(PRINCIPALS)] },
    { notPrincipals: [random.pick(PRINCIPALS)] },
    { namespaces: [random.pick(["default", "other"])] },
    { ipBlocks: [random.pick(["10.10.1.0/24", "192.0.2.0/24"])] },
    { requestPrincipals: [random.pick(["*", "https://login.example/alice", "https://login.example/*"])] },
  ]);
  const operation = {
    ...(random.chance(0.6) && { paths: [random.pick(["/a*", "/x", "*users", "/rewritten*", "/{*}", "/a/{**}"])] }),
    ...(random.chance(0.3) && { methods: [random.pick(["GET", "POST"])] }),
    ...(random.chance(0.2) && { notPaths: [random.pick(["/x", "/a"])] }),
    ...(random.chance(0.2) && { hosts: [random.pick(["a.*", "*.local", "other.example"])] }),
    ...(random.chance(0.2) && { ports: [random.pick(["9001", "9002"])] }),
  };
  const condition = random.pick<object>([
    { key: "request.headers[x-user]", values: [random.pick(["alice", "al*"])] },
    { key: "request.headers[x-split]", notValues: ["second"] },
    { key: "source.principal", values: [random.pick(PRINCIPALS)] },
    { key: "request.auth.claims[groups]", values: ["admins"] },
    { key: "destination.port", values: ["9002"] },
  ]);
  return {
    ...(random.chance(0.6) && { from: [{ source }] }),
    ...(random.chance(0.7) && Object.keys(operation).length > 0 && { to: [{ operation }] }),
    ...(random.chance(0.3) && { when: [condition] }),
  };
}

function tokens(random: RandomSource, keys: string): object {
  const first = {
    issuer: "https://login.example",
    jwks: keys,
    ...(random.chance(0.3) && { audiences: ["shop"] }),
    ...(random.chance(0.4) && { forwardOriginalToken: true }),
    ...(random.chance(0.3) && { outputClaimToHeaders: [{ header: "x-user", claim: "sub" }] }),
  };
  const second = {
    issuer: "https://partner.example",
    jwks: keys,
    ...(random.chance(0.5) && { fromHeaders: [{ name: "x-token" }] }),
  };
  return object("RequestAuthentication", "tokens", {
    ...(random.chance(0.5) && { selector: { matchLabels: { version: random.pick(["v1", "v2"]) } } }),
    jwtRules: random.chance(0.5) ? [first] : [first, second],
  });
}
