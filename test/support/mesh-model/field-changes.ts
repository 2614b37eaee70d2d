import { isDeepStrictEqual } from "node:util";
import { REQUIRED_FIELDS, shortName } from "../../../src/istio-api/definitions/message-schema.ts";
import {
  alternativesOf,
  type FieldEntry,
  type FieldType,
  type MessageTable,
} from "../../../src/protobuf/message-tables.ts";

type Message = Readonly<Record<string, unknown>>;

/** A field of a message, as the fields that lead to it from the outermost one. */
export type FieldPath = readonly { readonly table: MessageTable; readonly field: FieldEntry }[];

/** Every field that has a value of its own, however deep; a message inside one of its own kind is not entered again. */
export function fieldPaths(table: MessageTable, before: FieldPath = []): readonly FieldPath[] {
  return [...table.byName.values()].flatMap((field): readonly FieldPath[] => {
    const path = [...before, { table, field }];
    if (field.type.kind !== "message") return [path];
    const inner = field.type.table;
    const isEntered = inner === table || before.some((step) => step.table === inner);
    if (isEntered) return [];
    return inner.byName.size === 0 ? [path] : fieldPaths(inner, path);
  });
}

/** `http[].route[].weight`. */
export function formatFieldPath(path: FieldPath): string {
  const suffix = { one: "", list: "[]", map: "{}" } as const;
  return path.map(({ field }) => `${field.name}${suffix[field.shape]}`).join(".");
}

/** The field in the message it belongs to: one that many paths lead to. */
export function fieldName(path: FieldPath): string {
  const last = path.at(-1);
  return `${last?.table.name}.${last?.field.name}`;
}

/**
 * Messages that differ from the given one in the field alone and pass the test: two with different values where there are so many, and one
 * without it.
 */
export function fieldChanges(
  base: Message,
  path: FieldPath,
  isValid: (changed: Message) => boolean,
): readonly Message[] {
  const changed: Message[] = [];
  const add = (next: Message) => {
    const isNew = ![base, ...changed].some((known) => isDeepStrictEqual(known, next));
    if (isNew && isValid(next)) changed.push(next);
  };
  for (const value of valuesOf(path)) {
    add(withField(base, path, value));
    if (changed.length === 2) break;
  }
  add(withField(base, path, undefined));
  return changed;
}

/** `undefined` takes it away, and nothing else: what leads to it stays. */
function withField(base: unknown, path: FieldPath, value: unknown): Message {
  const [step, ...rest] = path;
  const message = typeof base === "object" && base !== null ? (base as Message) : {};
  if (step === undefined) return message;
  const { table, field } = step;
  const others = new Set(value === undefined ? [] : alternativesOf(table, field).map(({ name }) => name));
  const kept = Object.fromEntries(Object.entries(message).filter(([name]) => !others.has(name)));
  if (rest.length === 0) {
    const { [field.name]: _before, ...without } = kept;
    return value === undefined ? without : { ...kept, [field.name]: value };
  }
  const inner = (known: unknown) => withField(known ?? minimal(field.type), rest, value);
  const known = kept[field.name];
  switch (field.shape) {
    case "one":
      return { ...kept, [field.name]: inner(known) };
    case "list": {
      const [first, ...more] = Array.isArray(known) ? (known as unknown[]) : [];
      return { ...kept, [field.name]: [inner(first), ...more] };
    }
    case "map": {
      const [[key, first] = [field.key === "s" ? "x-key" : "8080", undefined], ...more] = Object.entries(known ?? {});
      return { ...kept, [field.name]: { [key]: inner(first), ...Object.fromEntries(more) } };
    }
  }
}

/** With what it cannot be without. */
function minimal(type: FieldType): unknown {
  if (type.kind !== "message") return {};
  const example = EXAMPLES[shortName(type.table)];
  if (example !== undefined) return example;
  const required = REQUIRED_FIELDS[shortName(type.table)] ?? [];
  return Object.fromEntries(
    required.map((name) => {
      const field = type.table.byName.get(name) as FieldEntry;
      const [value] = field.type.kind === "message" ? [minimal(field.type)] : scalars(field);
      return [name, field.shape === "list" ? [value] : value];
    }),
  );
}

const HOSTS = ["a.default.svc.cluster.local", "b.prod.svc.cluster.local"];

/** Messages whose members need each other, or others than definitions say. */
const EXAMPLES: Readonly<Record<string, Message>> = {
  "TrafficPolicy.PortTrafficPolicy": { port: { number: 80 } },
  ServerTLSSettings: { mode: "SIMPLE", serverCertificate: "/etc/a.pem", privateKey: "/etc/k.pem" },
  "ServerTLSSettings.TLSCertificate": { serverCertificate: "/etc/a.pem", privateKey: "/etc/k.pem" },
  ClientTLSSettings: { mode: "MUTUAL", clientCertificate: "/etc/a.pem", privateKey: "/etc/k.pem" },
  PolicyTargetReference: { group: "gateway.networking.k8s.io", kind: "Gateway", name: "gw" },
  SidecarPort: { number: 80, protocol: "HTTP", name: "http" },
  "ConnectionPoolSettings.HTTPSettings.ConnectionKeepalive": { interval: "10s", timeout: "5s" },
  "LocalityLoadBalancerSetting.Distribute": { from: "r1/*", to: { "r1/*": 100 } },
  "HTTPFaultInjection.Delay": { fixedDelay: "1s", percentage: { value: 10 } },
  "HTTPFaultInjection.Abort": { httpStatus: 500, percentage: { value: 10 } },
  HTTPRetry: { attempts: 2 },
  HTTPRedirect: { uri: "/x" },
  HTTPRewrite: { authority: "x.example" },
  HTTPDirectResponse: { status: 200 },
  HTTPBody: { string: "x" },
  ReadinessProbe: { tcpSocket: { port: 80 } },
  RegexRewrite: { match: "/a", rewrite: "/b" },
  CorsPolicy: { allowOrigins: [{ exact: "https://a.example" }] },
  StringMatch: { exact: "aa" },
  L4MatchAttributes: { port: 90 },
  Destination: { host: HOSTS[0], port: { number: 80 } },
};

function valuesOf(path: FieldPath): readonly unknown[] {
  const { field } = path.at(-1) as FieldPath[number];
  const values = field.type.kind === "message" ? [minimal(field.type)] : scalars(field);
  const [first, second] = values;
  switch (field.shape) {
    case "one":
      return values;
    case "list":
      return [...values.map((value) => [value]), [first, second], []];
    case "map":
      if (field.name === "to") return [{ "r2/*": 100 }, { "r1/*": 50, "r2/*": 50 }];
      return (field.key === "s" ? KEYS : ["80", "90"]).flatMap((key) => values.map((value) => ({ [key]: value })));
  }
}

const KEYS = ["app", "x-a", "key"];

/** Values that some field of the type takes, those that mean something in the mesh of the test first. */
function scalars({ name, type }: FieldEntry): readonly unknown[] {
  switch (type.kind) {
    case "enum":
      return [...type.table.numbers.keys()];
    case "duration":
      return ["3s", "4s", "0.5s"];
    case "timestamp":
      return ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
    case "struct":
    case "any":
      return [{ statPrefix: "a" }, { statPrefix: "b" }, { name: "a" }, { name: "b" }];
    case "value":
      return ["a", "b"];
    case "list":
      return [["a"], ["b"]];
    case "scalar":
    case "wrapper":
      if (type.code === "b") return [true, false];
      if (type.code === "s") return [...(MEANT[name] ?? []), ...TEXTS];
      if (type.code === "y") return ["YQ==", "Yg=="];
      return [...(MEANT[name] ?? []), 2, 3, 80, 90, 301, 302, 503, 0.5, 1];
    case "message":
      return [];
  }
}

/** By the name of the field: what the mesh of the test has, so that a field leads somewhere. */
const MEANT: Readonly<Record<string, readonly unknown[]>> = {
  host: HOSTS,
  hosts: [...HOSTS, "./*", "prod/*", "default/b.prod.svc.cluster.local"],
  service: ["otel.default.svc.cluster.local", ...HOSTS],
  subset: ["v1", "v2"],
  number: [80, 90],
  port: [80, 90],
  exportTo: [".", "*", "prod"],
  gateways: ["istio-system/gw", "mesh"],
  namespace: ["default", "prod"],
  labels: ["api", "web"],
  matchLabels: ["api", "web"],
  sourceLabels: ["web", "other"],
  app: ["api", "web"],
  regex: ["a.*", "b.*"],
  protocol: ["HTTP", "TCP", "TLS"],
  address: ["10.10.7.1", "10.10.7.2"],
  addresses: ["10.96.7.1", "10.96.7.2"],
  locality: ["r1/z1", "r2/z1"],
  bind: ["127.0.0.7", "127.0.0.8"],
  defaultEndpoint: ["127.0.0.1:8081", "0.0.0.0:8082"],
  retryOn: ["5xx", "reset"],
  sniHosts: ["a.default.svc.cluster.local", "b.example"],
  redirectCode: [302, 303],
  scheme: ["http", "https"],
  httpStatus: [503, 404],
  grpcStatus: ["UNAVAILABLE", "INTERNAL"],
  weight: [30, 70],
  key: ["request.headers[x-a]", "source.ip"],
  jwks: ['{"keys":[{"kty":"oct","k":"YWJj"}]}', '{"keys":[{"kty":"oct","k":"ZGVm"}]}'],
  caCertificates: ["/etc/a.pem", "/etc/b.pem"],
};

const TEXTS = [
  "aa",
  "bb",
  "/aa",
  "/bb",
  "x-aa",
  "x-bb",
  "a.example",
  "b.example",
  "10.10.7.1",
  "10.10.7.2",
  "10.0.0.0/8",
  "https://a.example/x",
  "https://b.example/x",
  "default",
  "prod",
  "*",
  ".",
  "1",
  "2",
  "GET",
  "POST",
  "80",
  "HTTP",
  "r1",
  "r2",
  "r1/*",
  "1.0",
  "a:80",
  "b:80",
  "spiffe://cluster.local/ns/a/sa/b",
  "oci://a.example/a:1",
];
