import { describe, expect, test } from "vitest";
import { createTestMesh, type TestNode, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { decodeMessage } from "../../protobuf/envoy/index.ts";
import { any as anyMessage } from "../../protobuf/wire/discovery.ts";
import { createResourceSource } from "../create-resource-source.ts";
import { pluginConfig } from "./plugin-config.ts";

const URL = "oci://registry.example/filters/header:v1";
const plugin = (name: string, spec: object = {}, namespace = "default"): TestObject => ({
  kind: "WasmPlugin",
  name,
  namespace,
  spec: { url: URL, ...spec },
});
const web: TestObject = {
  kind: "ServiceEntry",
  name: "web",
  spec: {
    hosts: ["web.default.svc.cluster.local"],
    addresses: ["10.96.0.1"],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: [
      { number: 80, name: "http", protocol: "HTTP", targetPort: 8080 },
      { number: 90, name: "tcp", protocol: "TCP" },
    ],
    endpoints: [{ address: "10.10.0.11" }],
  },
};
const rules: readonly TestObject[] = [
  { kind: "AuthorizationPolicy", name: "all", spec: { rules: [{}] } },
  {
    kind: "RequestAuthentication",
    name: "tokens",
    spec: { jwtRules: [{ issuer: "a", jwks: '{"keys":[{"kty":"oct","k":"c2VjcmV0","alg":"HS256"}]}' }] },
  },
];

const viewOf = (objects: readonly TestObject[], node: TestNode = {}) =>
  createTestMesh(documents(web, ...objects))
    .take()
    .snapshot.view(testNode(node));
type Json = Readonly<Record<string, unknown>>;
const sent = (
  view: ReturnType<typeof viewOf>,
  type: keyof typeof MESSAGES,
  names?: readonly string[],
): readonly Json[] => {
  const source = createResourceSource({ onProblem: () => undefined });
  const { resources } = names === undefined ? source.all(view, type) : source.named(view, type, names);
  return resources.map(({ any }) => decoded(type, any));
};
const MESSAGES = {
  LDS: "envoy.config.listener.v3.Listener",
  ECDS: "envoy.config.core.v3.TypedExtensionConfig",
} as const;
const decoded = (type: keyof typeof MESSAGES, bytes: Buffer) => {
  const value = decodeMessage(MESSAGES[type], Buffer.from(anyMessage.decode(bytes).value));
  return JSON.parse(JSON.stringify(value)) as Json;
};
type Chain = { readonly filterChainMatch?: Json; readonly filters: readonly { name: string; typedConfig?: Json }[] };
const chainsOf = (view: ReturnType<typeof viewOf>, listener: string) => {
  const found = sent(view, "LDS").find(({ name }) => name === listener) ?? {};
  return [
    ...((found.filterChains ?? []) as Chain[]),
    ...(found.defaultFilterChain ? [found.defaultFilterChain as Chain] : []),
  ];
};
const short = ({ name }: { readonly name: string }) =>
  name.replace("extensions.istio.io/wasmplugin/", "").replace(/^envoy\.filters\.(http|network)\./, "");
const httpNames = (chains: readonly Chain[]) => {
  const manager = chains.flatMap(({ filters }) => filters).find(({ name }) => name.endsWith("http_connection_manager"));
  return ((manager?.typedConfig?.httpFilters ?? []) as { name: string }[]).map(short);
};
const inboundOn = (port: number, view: ReturnType<typeof viewOf>) =>
  chainsOf(view, "virtualInbound").filter(({ filterChainMatch }) => filterChainMatch?.destinationPort === port);

describe("HTTP plugins", () => {
  test("stand where their phase says: before tokens, before rules, and behind both", () => {
    const view = viewOf([
      ...rules,
      plugin("z"),
      plugin("stats", { phase: "STATS" }),
      plugin("authz", { phase: "AUTHZ" }),
      plugin("authn", { phase: "AUTHN" }),
    ]);
    expect(httpNames(inboundOn(8080, view))).toEqual([
      "default.authn",
      "jwt_authn",
      "default.authz",
      "rbac",
      "default.stats",
      "default.z",
      "fault",
      "cors",
      "router",
    ]);
    // Calls made are not checked, and have plugins all the same.
    expect(httpNames(chainsOf(view, "0.0.0.0_80"))).toEqual([
      "default.authn",
      "default.authz",
      "default.stats",
      "default.z",
      "fault",
      "cors",
      "router",
    ]);
  });

  test("of one phase come by priority, then the workload's own before the mesh's, then by age", () => {
    const view = viewOf([
      plugin("mesh", {}, "istio-system"),
      plugin("low", { priority: -1 }),
      plugin("own"),
      plugin("high", { priority: 10 }),
      plugin("elsewhere", {}, "other"),
    ]);
    expect(httpNames(inboundOn(8080, view)).slice(0, 4)).toEqual([
      "default.high",
      "default.low",
      "default.own",
      "istio-system.mesh",
    ]);
  });

  test.each<{ what: string; match: readonly object[]; server: boolean; client: boolean }>([
    { what: "nothing", match: [], server: true, client: true },
    { what: "servers", match: [{ mode: "SERVER" }], server: true, client: false },
    { what: "clients", match: [{ mode: "CLIENT" }], server: false, client: true },
    { what: "both", match: [{ mode: "CLIENT_AND_SERVER" }], server: true, client: true },
    { what: "the workload's port", match: [{ ports: [{ number: 8080 }] }], server: true, client: false },
    { what: "the service's port", match: [{ ports: [{ number: 80 }] }], server: false, client: true },
    {
      what: "either",
      match: [{ mode: "CLIENT", ports: [{ number: 1 }] }, { mode: "SERVER" }],
      server: true,
      client: false,
    },
  ])("that match $what are at the server: $server, at the client: $client", ({ match, server, client }) => {
    const view = viewOf([plugin("p", { match })]);
    expect(httpNames(inboundOn(8080, view)).includes("default.p")).toBe(server);
    expect(httpNames(chainsOf(view, "0.0.0.0_80")).includes("default.p")).toBe(client);
  });

  test.each([
    { what: "labels that the workload has", spec: { selector: { matchLabels: { app: "web" } } }, isThere: true },
    { what: "labels of others", spec: { selector: { matchLabels: { app: "other" } } }, isThere: false },
    {
      what: "a gateway of the Gateway API",
      spec: { targetRefs: [{ kind: "Gateway", group: "gateway.networking.k8s.io", name: "edge" }] },
      isThere: false,
    },
  ])("that name $what reach it: $isThere", ({ spec, isThere }) => {
    const view = viewOf([plugin("p", spec)], { metadata: { LABELS: { app: "web" } } });
    expect(httpNames(inboundOn(8080, view)).includes("default.p")).toBe(isThere);
    expect(sent(view, "ECDS", ["extensions.istio.io/wasmplugin/default.p"])).toHaveLength(isThere ? 1 : 0);
  });
});

test("network plugins stand before the TCP proxy and in no HTTP chain", () => {
  const view = viewOf([...rules, plugin("tcp", { type: "NETWORK", phase: "AUTHN" })]);
  expect(inboundOn(90, view)[0]?.filters.map(short)).toEqual(["default.tcp", "rbac", "tcp_proxy"]);
  expect(chainsOf(view, "10.96.0.1_90")[0]?.filters.map(short)).toEqual(["default.tcp", "tcp_proxy"]);
  expect(httpNames(inboundOn(8080, view))).not.toContain("default.tcp");
});

test("a filter asks for its module over ADS, and takes what agents put in its place", () => {
  const [manager] = inboundOn(8080, viewOf([plugin("p")]))[0]?.filters ?? [];
  const [filter] = (manager?.typedConfig?.httpFilters ?? []) as readonly object[];
  expect(filter).toEqual({
    name: "extensions.istio.io/wasmplugin/default.p",
    configDiscovery: {
      configSource: { ads: {}, initialFetchTimeout: "0s", resourceApiVersion: "V3" },
      typeUrls: [
        "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
        "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
      ],
    },
  });
});

describe("the extension configuration", () => {
  const configOf = (spec: object) => {
    const name = "extensions.istio.io/wasmplugin/default.p";
    const [resource] = sent(viewOf([plugin("p", spec)]), "ECDS", [name]);
    expect(resource?.name).toBe(name);
    return resource?.typedConfig as { readonly "@type": string; readonly config: Json };
  };

  test("has module, settings, variables and what happens when it fails", () => {
    const spec = {
      url: "registry.example/filters/header:v1",
      sha256: "a".repeat(64),
      pluginName: "root",
      pluginConfig: { header: "x", nested: { list: [1, true] } },
      imagePullPolicy: "Always",
      failStrategy: "FAIL_OPEN",
      vmConfig: {
        env: [
          { name: "A", value: "1" },
          { name: "HOME", valueFrom: "HOST" },
        ],
      },
    };
    expect(configOf(spec)).toEqual({
      "@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
      config: {
        name: "default.p",
        rootId: "root",
        configuration: {
          "@type": "type.googleapis.com/google.protobuf.StringValue",
          value: JSON.stringify(spec.pluginConfig),
        },
        failurePolicy: "FAIL_OPEN",
        vmConfig: {
          runtime: "envoy.wasm.runtime.v8",
          code: {
            remote: {
              httpUri: { uri: "oci://registry.example/filters/header:v1", timeout: "30s", cluster: "_" },
              sha256: "a".repeat(64),
            },
          },
          environmentVariables: {
            hostEnvKeys: ["HOME"],
            keyValues: {
              A: "1",
              ISTIO_META_WASM_IMAGE_PULL_POLICY: "Always",
              ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION: "",
            },
          },
        },
      },
    });
  });

  test.each([
    {
      what: "a file",
      spec: { url: "file:///opt/m.wasm" },
      has: { vmConfig: { code: { local: { filename: "/opt/m.wasm" } } } },
    },
    { what: "nothing about failures", spec: {}, has: { failurePolicy: "FAIL_CLOSED" } },
    { what: "that it is loaded again", spec: { failStrategy: "FAIL_RELOAD" }, has: { failurePolicy: "FAIL_RELOAD" } },
    {
      what: "a Secret, which is filled in for each proxy",
      spec: { imagePullSecret: "login" },
      has: { vmConfig: { environmentVariables: { keyValues: { ISTIO_META_WASM_IMAGE_PULL_SECRET: "" } } } },
    },
  ])("of a plugin that says $what", ({ spec, has }) => {
    expect(configOf(spec).config).toMatchObject(has);
  });

  test("of a network plugin is one for network filters", () => {
    expect(configOf({ type: "NETWORK" })["@type"]).toContain("filters.network.wasm");
  });

  test.each([
    { named: "login", key: "default/login" },
    { named: "kubernetes://login", key: "default/login" },
    // A plugin must not reach for what another namespace keeps.
    { named: "kubernetes://other/login", key: "default/login" },
    { named: "other/login", key: "default/login" },
    { named: "", key: undefined },
  ])("with imagePullSecret $named takes Secret $key", ({ named, key }) => {
    const view = viewOf([plugin("p", { imagePullSecret: named })]);
    const source = createResourceSource({ onProblem: () => undefined });
    const [resource] = source.named(view, "ECDS", ["extensions.istio.io/wasmplugin/default.p"]).resources;
    expect(resource).toBeDefined();
    expect(resource?.pullSecret?.key).toBe(key);
  });

  test("has the version of the object, by which agents know that they have to look again", () => {
    const [object] = viewOf([plugin("p")]).snapshot.configs.list("WasmPlugin", "default");
    if (object === undefined) throw new Error("no object");
    const { typedConfig } = pluginConfig({ ...object, source: { metadata: { resourceVersion: "42" } } });
    expect(JSON.stringify(typedConfig)).toContain('"ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION":"42"');
  });
});

test("a gateway has plugins by the port of its server", () => {
  const objects: readonly TestObject[] = [
    plugin("p", { match: [{ ports: [{ number: 8080 }] }] }),
    {
      kind: "Gateway",
      name: "edge",
      spec: {
        selector: {},
        servers: [8080, 8081].map((number) => ({
          port: { number, name: `http-${number}`, protocol: "HTTP" },
          hosts: ["*"],
        })),
      },
    },
  ];
  const view = viewOf(objects, { type: "router" });
  expect(httpNames(chainsOf(view, "0.0.0.0_8080"))).toContain("default.p");
  expect(httpNames(chainsOf(view, "0.0.0.0_8081"))).not.toContain("default.p");
});
