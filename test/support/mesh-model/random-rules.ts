import fc from "fast-check";
import { ANY_OBJECT, ANY_SERVICE, HOST, NAME, NAMESPACE } from "./random-mesh.ts";
import type { TestObject } from "./test-objects.ts";

const PLACE = { name: NAME, namespace: NAMESPACE };
const LABELS = fc.constantFrom({ app: "api" }, { app: "a" }, { version: "v1" });
const ADDRESS = fc.constantFrom("10.10.0.11", "10.10.0.12", "10.10.1.1");

/** Any object of a kind with a specification that is drawn. */
function rule<Drawn extends object>(kind: string, drawn: fc.Arbitrary<Drawn>, toSpec: (drawn: Drawn) => object) {
  return fc.tuple(fc.record(PLACE), drawn).map(([place, values]): TestObject => {
    return { kind, ...place, spec: { ...toSpec(values) } };
  });
}

const selector = fc.option(LABELS, { nil: undefined }).map((labels) => labels && { selector: { matchLabels: labels } });

const EXTERNAL = rule(
  "ServiceEntry",
  fc.record({
    hosts: fc.uniqueArray(fc.constantFrom("one.example", "two.example", "*.wild.example"), { minLength: 1 }),
    resolution: fc.constantFrom("DNS", "NONE", "STATIC"),
    protocol: fc.constantFrom("HTTP", "TCP", "TLS"),
    port: fc.constantFrom(80, 443),
    address: fc.option(fc.constantFrom("10.50.0.1", "10.50.0.2"), { nil: undefined }),
  }),
  ({ hosts, resolution, protocol, port, address }) => ({
    // A name under a wildcard cannot be looked up, and bytes alone do not say which of two hosts they are for.
    hosts: hosts
      .slice(0, protocol === "TCP" ? 1 : undefined)
      .map((host) => (resolution === "DNS" ? host.replace("*.", "any.") : host)),
    resolution,
    ports: [{ number: port, name: `p-${port}`, protocol }],
    ...(address && { addresses: [address] }),
    ...(resolution === "STATIC" && { endpoints: [{ address: "10.60.0.1" }] }),
  }),
);

const SELECTING = rule("ServiceEntry", fc.record({ labels: LABELS, host: NAME }), ({ labels, host }) => ({
  hosts: [`${host}.default.svc.cluster.local`],
  location: "MESH_INTERNAL",
  resolution: "STATIC",
  ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }],
  workloadSelector: { labels },
}));

const WORKLOAD = rule(
  "WorkloadEntry",
  fc.record({ labels: LABELS, address: ADDRESS, account: NAME, weight: fc.constantFrom(0, 5) }),
  ({ labels, address, account, weight }) => ({ address, labels, serviceAccount: account, weight }),
);

const ACCESS = rule(
  "AuthorizationPolicy",
  fc.record({ selector, action: fc.constantFrom("ALLOW", "DENY"), path: fc.constantFrom("/a", "/b") }),
  (drawn) => ({ ...drawn.selector, action: drawn.action, rules: [{ to: [{ operation: { paths: [drawn.path] } }] }] }),
);

const TOKENS = rule(
  "RequestAuthentication",
  fc.record({ selector, issuer: fc.constantFrom("https://a.example", "https://b.example") }),
  (drawn) => ({ ...drawn.selector, jwtRules: [{ issuer: drawn.issuer, jwks: '{"keys":[{"kty":"oct","k":"YWJj"}]}' }] }),
);

const LOGS = rule("Telemetry", fc.record({ selector, disabled: fc.boolean() }), (drawn) => ({
  ...drawn.selector,
  accessLogging: [{ providers: [{ name: "envoy" }], disabled: drawn.disabled }],
}));

const PATCH = rule(
  "EnvoyFilter",
  fc.record({
    labels: fc.option(LABELS, { nil: undefined }),
    applyTo: fc.constantFrom("CLUSTER", "VIRTUAL_HOST", "EXTENSION_CONFIG"),
    operation: fc.constantFrom("MERGE", "ADD"),
    value: NAME,
  }),
  ({ labels, applyTo, operation, value }) => {
    const values: Readonly<Record<string, object>> = {
      CLUSTER: operation === "ADD" ? { name: `extra-${value}`, type: "STATIC" } : { altStatName: value },
      VIRTUAL_HOST: { name: `extra-${value}`, domains: [`${value}.added`], includeRequestAttemptCount: true },
      EXTENSION_CONFIG: { name: `ext-${value}`, typedConfig: { "@type": ROUTER, startChildSpan: true } },
    };
    const isAdded = applyTo === "EXTENSION_CONFIG" ? "ADD" : operation;
    return {
      ...(labels && { workloadSelector: { labels } }),
      configPatches: [{ applyTo, patch: { operation: isAdded, value: values[applyTo] } }],
    };
  },
);
const ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";

const GATEWAY = rule(
  "Gateway",
  fc.record({ labels: LABELS, port: fc.constantFrom(80, 8080), host: fc.constantFrom("*", "shared.example") }),
  ({ labels, port, host }) => ({
    selector: labels,
    servers: [{ port: { number: port, name: "http", protocol: "HTTP" }, hosts: [host] }],
  }),
);

const GATEWAY_RULE = rule(
  "VirtualService",
  fc.record({ gateway: NAME, gatewaySpace: NAMESPACE, host: HOST, isMesh: fc.boolean() }),
  ({ gateway, gatewaySpace, host, isMesh }) => ({
    hosts: ["shared.example"],
    gateways: [`${gatewaySpace}/${gateway}`, ...(isMesh ? ["mesh"] : [])],
    http: [{ route: [{ destination: { host } }] }],
  }),
);

/** Of every kind that shows in what proxies get. */
const ANY_RULE = fc.oneof(
  { weight: 4, arbitrary: ANY_OBJECT },
  { weight: 4, arbitrary: ANY_SERVICE },
  { weight: 1, arbitrary: EXTERNAL },
  { weight: 1, arbitrary: SELECTING },
  { weight: 2, arbitrary: WORKLOAD },
  { weight: 1, arbitrary: ACCESS },
  { weight: 1, arbitrary: TOKENS },
  { weight: 1, arbitrary: LOGS },
  { weight: 1, arbitrary: PATCH },
  { weight: 1, arbitrary: GATEWAY },
  { weight: 1, arbitrary: GATEWAY_RULE },
);

/** What any control plane would show of a mesh. Patches and logs are shown in ways of one's own. */
export const COMPARED_OBJECT = fc.oneof(
  { weight: 4, arbitrary: ANY_OBJECT },
  { weight: 4, arbitrary: ANY_SERVICE },
  { weight: 1, arbitrary: EXTERNAL },
  { weight: 1, arbitrary: SELECTING },
  { weight: 2, arbitrary: WORKLOAD },
  { weight: 1, arbitrary: ACCESS },
  { weight: 1, arbitrary: TOKENS },
  { weight: 1, arbitrary: GATEWAY },
  { weight: 1, arbitrary: GATEWAY_RULE },
);

/** The same objects at different ages: where two compete, either may win. */
export const ANY_AGED_RULE = fc
  .tuple(ANY_RULE, fc.option(fc.constantFrom(1, 2), { nil: undefined }))
  .map(([object, created]): TestObject => (created === undefined ? object : { ...object, created }));

/** Settings that show in resources, each in one of a few ways. */
export const ANY_MESH_SETTINGS = fc
  .record(
    {
      outboundTrafficPolicy: fc.constantFrom({ mode: "REGISTRY_ONLY" }, { mode: "ALLOW_ANY" }),
      trustDomain: fc.constantFrom("cluster.local", "other.domain"),
      rootNamespace: fc.constantFrom("istio-system", "prod"),
      enableAutoMtls: fc.boolean(),
      accessLogFile: fc.constantFrom("", "/dev/stdout"),
      defaultServiceExportTo: fc.constantFrom(["*"], ["."]),
      defaultVirtualServiceExportTo: fc.constantFrom(["*"], ["."]),
      connectTimeout: fc.constantFrom("1s", "10s"),
    },
    { requiredKeys: [] },
  )
  .map((settings) => JSON.stringify(settings));
