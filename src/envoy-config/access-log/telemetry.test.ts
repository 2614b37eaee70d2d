import { describe, expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, service, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import type { AccessLog } from "../../protobuf/gen/envoy/config/accesslog/v3.ts";
import { createResourceSource } from "../create-resource-source.ts";
import { DEFAULT_JSON_FORMAT, DEFAULT_TEXT_FORMAT } from "./file-log.ts";
import { inboundLogs, outboundLogs } from "./telemetry.ts";

const collector = service({ name: "collector", namespace: "obs", ports: [4317] });
const SERVER = { service: "collector.obs.svc.cluster.local", port: 4317 };
const PROVIDERS = [
  { name: "text", envoyFileAccessLog: { path: "/dev/stderr", logFormat: { text: "%PROTOCOL%" } } },
  { name: "json", envoyFileAccessLog: { path: "/tmp/j", logFormat: { labels: { p: "%PROTOCOL%" } } } },
  { name: "plain", envoyFileAccessLog: {} },
  { name: "empty", envoyFileAccessLog: { logFormat: { labels: {} } } },
  { name: "omit", envoyFileAccessLog: { omitEmptyValues: true } },
  { name: "path", envoyFileAccessLog: { logFormat: { labels: { p: "%REQ_WITHOUT_QUERY(X:PATH)%" } } } },
  { name: "http", envoyHttpAls: { ...SERVER, additionalRequestHeadersToLog: ["x-a"] } },
  { name: "tcp", envoyTcpAls: { ...SERVER, service: `obs/${SERVER.service}`, logName: "mine" } },
  { name: "otel", envoyOtelAls: { ...SERVER, logFormat: { text: "%PROTOCOL%", labels: { b: "2", a: "1" } } } },
  { name: "lost", envoyHttpAls: { ...SERVER, service: "nobody.obs.svc.cluster.local" } },
  { name: "closed", envoyTcpAls: { ...SERVER, port: 1 } },
  { name: "elsewhere", envoyTcpAls: { ...SERVER, service: `prod/${SERVER.service}` } },
  { name: "zipkin", zipkin: SERVER },
];

type Entry = Readonly<Record<string, unknown>>;
const entry = (providers: string, more: Entry = {}): Entry => ({
  providers: providers.split(" ").map((name) => ({ name })),
  ...more,
});
const telemetry = (accessLogging: readonly Entry[], more: Partial<TestObject> & { labels?: object } = {}) => {
  const { labels, ...rest } = more;
  const spec = { accessLogging, ...(labels && { selector: { matchLabels: labels } }) };
  return { kind: "Telemetry", name: "t", ...rest, spec };
};
const FILTER = { filter: { expression: "response.code >= 400" } };
const FILE = "accessLogFile: /dev/stdout";

function logs(objects: readonly TestObject[], meshYaml = "") {
  const providers = `extensionProviders: ${JSON.stringify(PROVIDERS)}\n`;
  const mesh = createTestMesh(documents(collector, ...objects), providers + meshYaml);
  const view = mesh.take().snapshot.view(testNode({ labels: { app: "web" } }));
  return { client: outboundLogs(view.outbound), server: inboundLogs(view) };
}

/** Where lines go to and what is let through, in short. */
function summary(list: readonly AccessLog[]): readonly string[] {
  return list.map(({ typedConfig, filter }) => {
    const { path, commonConfig } = typedConfig as { path?: string; commonConfig?: { logName?: string } };
    const { expression } = (filter?.extensionFilter?.typedConfig ?? {}) as { expression?: string };
    return [path ?? commonConfig?.logName, ...(expression === undefined ? [] : [expression])].join(" if ");
  });
}

const CLIENT = { match: { mode: "CLIENT" } };
const SERVER_ONLY = { match: { mode: "SERVER" } };

test.each(["[null]", "[{}]", '[{name: ""}]'])(
  "mesh providers %s without a name stop no one from logging",
  (providers) => {
    const objects = documents(collector, telemetry([entry("nobody")]));
    const mesh = createTestMesh(objects, `${FILE}\nextensionProviders: ${providers}\n`);
    const view = mesh.take().snapshot.view(testNode({ labels: { app: "web" } }));
    expect(() => outboundLogs(view.outbound)).not.toThrow();
    expect(() => inboundLogs(view)).not.toThrow();
  },
);

describe("who logs where", () => {
  test.each<{ is: string; objects: TestObject[]; mesh?: string; client: string[]; server?: string[] }>([
    { is: "nothing is asked for", objects: [], client: [] },
    { is: "the mesh has a file", objects: [], mesh: FILE, client: ["/dev/stdout"] },
    {
      is: "the mesh has default providers",
      objects: [],
      mesh: "defaultProviders: {accessLogging: [text, json]}",
      client: ["/tmp/j", "/dev/stderr"],
    },
    { is: "a namespace asks", objects: [telemetry([entry("text")])], mesh: FILE, client: ["/dev/stderr"] },
    { is: "another namespace asks", objects: [telemetry([entry("text")], { namespace: "prod" })], client: [] },
    { is: "names are spelled in another case", objects: [telemetry([entry("TEXT")])], client: ["/dev/stderr"] },
    {
      is: "the mesh asks",
      objects: [telemetry([entry("text")], { namespace: "istio-system" })],
      client: ["/dev/stderr"],
    },
    {
      is: "the mesh asks for workloads of its own namespace",
      objects: [telemetry([entry("text")], { namespace: "istio-system", labels: { app: "web" } })],
      client: [],
    },
    {
      is: "the namespace says something else than the mesh",
      objects: [telemetry([entry("text")], { namespace: "istio-system" }), telemetry([entry("json")])],
      client: ["/tmp/j"],
    },
    {
      is: "the workload says something else than its namespace",
      objects: [telemetry([entry("text")]), telemetry([entry("json")], { name: "w", labels: { app: "web" } })],
      client: ["/tmp/j"],
    },
    { is: "another workload is meant", objects: [telemetry([entry("json")], { labels: { app: "api" } })], client: [] },
    {
      is: "two are for the namespace",
      objects: [telemetry([entry("text")], { created: 9 }), telemetry([entry("json")], { name: "old", created: 1 })],
      client: ["/tmp/j"],
    },
    {
      is: "clients are meant",
      objects: [telemetry([entry("text", CLIENT)])],
      mesh: FILE,
      client: ["/dev/stderr"],
      server: ["/dev/stdout"],
    },
    {
      is: "each side has its own",
      objects: [telemetry([entry("text", CLIENT), entry("json", SERVER_ONLY)])],
      client: ["/dev/stderr"],
      server: ["/tmp/j"],
    },
    {
      is: "a filter is given",
      objects: [telemetry([entry("text", FILTER)])],
      client: ["/dev/stderr if response.code >= 400"],
    },
    {
      is: "a filter is given for what the mesh logs",
      objects: [telemetry([FILTER])],
      mesh: "defaultProviders: {accessLogging: [text]}",
      client: ["/dev/stderr if response.code >= 400"],
    },
    {
      is: "the provider is named again without the filter",
      objects: [telemetry([entry("text", FILTER)], { namespace: "istio-system" }), telemetry([entry("text")])],
      client: ["/dev/stderr"],
    },
    {
      is: "logs are turned off",
      objects: [telemetry([{ disabled: true }])],
      mesh: "defaultProviders: {accessLogging: [text]}",
      client: [],
    },
    {
      is: "one of two is turned off",
      objects: [telemetry([entry("text json"), entry("text", { disabled: true })])],
      client: ["/tmp/j"],
    },
    {
      is: "servers are turned off",
      objects: [
        telemetry([entry("text")], { namespace: "istio-system" }),
        telemetry([{ ...SERVER_ONLY, disabled: true }]),
      ],
      client: ["/dev/stderr"],
      server: [],
    },
    {
      is: "the provider is none of logs",
      objects: [telemetry([entry("zipkin")])],
      mesh: FILE,
      client: ["/dev/stdout"],
    },
    { is: "no one has that provider", objects: [telemetry([entry("nobody")])], mesh: FILE, client: ["/dev/stdout"] },
  ])("$is", ({ objects, mesh, client, server = client }) => {
    const made = logs(objects, mesh);
    expect(summary(made.client.traffic)).toEqual(client);
    expect(summary(made.server.traffic)).toEqual(server);
  });
});

test("a listener tells only of connections without chain, and of those what the filter lets through", () => {
  const { client } = logs([telemetry([entry("text", FILTER)])]);
  const [traffic] = client.traffic;
  expect(client.listener).toEqual([
    { ...traffic, filter: { andFilter: { filters: [{ responseFlagFilter: { flags: ["NR"] } }, traffic?.filter] } } },
  ]);
  expect(logs([telemetry([entry("text")])], "disableEnvoyListenerLog: true").client).toMatchObject({ listener: [] });
});

describe("what a provider writes", () => {
  const configOf = (name: string, mesh = "") => logs([telemetry([entry(name)])], mesh).client.traffic[0]?.typedConfig;
  const text = (inlineString: string) => ({ textFormatSource: { inlineString } });

  test.each([
    { name: "text", path: "/dev/stderr", logFormat: text("%PROTOCOL%\n") },
    { name: "plain", path: "/dev/stdout", logFormat: text(DEFAULT_TEXT_FORMAT) },
    { name: "omit", path: "/dev/stdout", logFormat: { ...text(DEFAULT_TEXT_FORMAT), omitEmptyValues: true } },
    { name: "json", path: "/tmp/j", logFormat: { jsonFormat: { p: "%PROTOCOL%" }, jsonFormatOptions: {} } },
    { name: "empty", path: "/dev/stdout", logFormat: { jsonFormat: DEFAULT_JSON_FORMAT, jsonFormatOptions: {} } },
    { name: "path", path: "/dev/stdout", logFormat: { formatters: [{ name: "envoy.formatter.req_without_query" }] } },
  ])("$name writes to a file", ({ name, path, logFormat }) => {
    expect(configOf(name)).toMatchObject({ path, logFormat });
  });

  test("the provider of every mesh writes as the mesh settings say", () => {
    expect(configOf("envoy", 'accessLogEncoding: JSON\naccessLogFormat: \'{"a": "%PROTOCOL%"}\'')).toMatchObject({
      path: "/dev/stdout",
      logFormat: { jsonFormat: { a: "%PROTOCOL%" } },
    });
  });

  const grpcService = {
    envoyGrpc: { clusterName: `outbound|4317||${SERVER.service}`, authority: SERVER.service },
  };
  test.each([
    {
      name: "http",
      commonConfig: { logName: "http_envoy_accesslog", grpcService },
      additionalRequestHeadersToLog: ["x-a"],
    },
    {
      name: "tcp",
      commonConfig: { logName: "mine", grpcService, filterStateObjectsToLog: ["upstream_peer", "downstream_peer"] },
    },
    {
      name: "otel",
      commonConfig: { logName: "otel_envoy_accesslog", grpcService },
      body: { stringValue: "%PROTOCOL%" },
      attributes: {
        values: [
          { key: "a", value: { stringValue: "1" } },
          { key: "b", value: { stringValue: "2" } },
        ],
      },
    },
  ])("$name is sent to a service of the mesh", ({ name, ...config }) => {
    expect(configOf(name)).toMatchObject(config);
  });

  test.each([
    { name: "lost", says: "there is no service nobody.obs.svc.cluster.local, or the workload does not see it" },
    { name: "closed", says: "service collector.obs.svc.cluster.local has no port 1" },
    {
      name: "elsewhere",
      says: "there is no service prod/collector.obs.svc.cluster.local, or the workload does not see it",
    },
    { name: "nobody", says: "the mesh has no such provider" },
  ])("$name is left out, as proxies refuse a log to a cluster they do not have", ({ name, says }) => {
    const { client } = logs([telemetry([entry(name)])]);
    expect(client).toMatchObject({ traffic: [], problems: [`access log provider "${name}": ${says}`] });
  });
});

test("listeners are made again when the server of a log comes, also those of the workload itself", () => {
  const problems: string[] = [];
  const source = createResourceSource({ onProblem: ({ reason }) => problems.push(reason) });
  const web = service({ name: "web", endpoints: [{ address: "10.10.0.11" }] });
  const mesh = createTestMesh(
    documents(web, telemetry([entry("http")])),
    `extensionProviders: ${JSON.stringify(PROVIDERS)}`,
  );
  const inbound = () =>
    source.all(mesh.take().snapshot.view(testNode()), "LDS").get("virtualInbound")?.any.toString("latin1");
  expect(inbound()).not.toContain("http_envoy_accesslog");
  expect(problems).toHaveLength(2);
  mesh.put(documents(collector));
  expect(inbound()).toContain("http_envoy_accesslog");
  expect(problems).toHaveLength(2);
});
