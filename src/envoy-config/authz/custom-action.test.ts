import { describe, expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, service, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { createResourceSource } from "../create-resource-source.ts";
import { buildAccessPolicies, buildGrpcAccessFilters } from "./access-policies.ts";

const HOST = "auth.default.svc.cluster.local";
const CLUSTER = `outbound|9000||${HOST}`;
const auth = service({ name: "auth", ports: [9000] });
const http = (more: object = {}, name = "opa") => ({ name, envoyExtAuthzHttp: { service: HOST, port: 9000, ...more } });
const grpc = (more: object = {}, name = "opa") => ({ name, envoyExtAuthzGrpc: { service: HOST, port: 9000, ...more } });
const custom = (provider = "opa", name = "ask", more: object = {}): TestObject => ({
  kind: "AuthorizationPolicy",
  name,
  spec: {
    action: "CUSTOM",
    provider: { name: provider },
    rules: [{ to: [{ operation: { ports: ["80"] } }] }],
    ...more,
  },
});
const meshYaml = (...extensionProviders: readonly object[]) => JSON.stringify({ extensionProviders });
const viewOf = (providers: readonly object[], ...objects: readonly TestObject[]) =>
  createTestMesh(documents(auth, ...objects), meshYaml(...providers))
    .take()
    .snapshot.view(testNode());

type Filter = { readonly name?: string | undefined; readonly typedConfig?: unknown };
const namesOf = (filters: readonly Filter[]) => filters.map(({ name }) => name?.replace("envoy.filters.", ""));
const configOf = ({ typedConfig }: Filter = {}) => JSON.parse(JSON.stringify(typedConfig)) as Record<string, unknown>;
const rule = { permissions: [{ destinationPort: 80 }], principals: [{ any: true }] };
const asked = (filter: string) => ({
  filter,
  path: [{ key: "istio_ext_authz_shadow_effective_policy_id" }],
  value: { stringMatch: { prefix: "istio-ext-authz-opa" } },
});

describe("a provider that can be asked", () => {
  test("over gRPC is asked about requests and connections that a policy matches", () => {
    const { http: filters, network, problems } = buildAccessPolicies(viewOf([grpc({ timeout: "2s" })], custom()));
    expect(problems).toEqual([]);
    expect(namesOf(filters)).toEqual(["http.rbac", "http.ext_authz"]);
    expect(namesOf(network)).toEqual(["network.rbac", "network.ext_authz"]);
    const shadow = {
      shadowRules: { action: "DENY", policies: { "istio-ext-authz-opa-ns[default]-policy[ask]-rule[0]": rule } },
      shadowRulesStatPrefix: "istio_ext_authz_",
    };
    for (const chain of [filters, network]) {
      expect(configOf(chain[0])).toMatchObject(shadow);
      expect(configOf(chain[0])).not.toHaveProperty("rules");
    }
    const grpcService = { envoyGrpc: { clusterName: CLUSTER, authority: HOST }, timeout: "2s" };
    expect(configOf(filters[1])).toEqual({
      "@type": expect.any(String),
      grpcService,
      transportApiVersion: "V3",
      filterEnabledMetadata: asked("envoy.filters.http.rbac"),
    });
    expect(configOf(network[1])).toEqual({
      "@type": expect.any(String),
      statPrefix: "tcp.",
      grpcService,
      transportApiVersion: "V3",
      filterEnabledMetadata: asked("envoy.filters.network.rbac"),
    });
  });

  test("is one of several for a workload: each is asked about what its own policies match", () => {
    const view = viewOf([http(), grpc({}, "opa-2")], custom("opa", "a"), custom("opa-2", "b"));
    const { http: filters, network, problems } = buildAccessPolicies(view);
    expect(problems).toEqual([]);
    expect(namesOf(filters)).toEqual(["http.rbac", "http.ext_authz", "http.rbac", "http.ext_authz"]);
    expect(namesOf(network)).toEqual(["network.rbac", "network.ext_authz"]);
    const prefixOf = (filter: Filter | undefined) => JSON.stringify(configOf(filter).filterEnabledMetadata);
    // The name of the first is the beginning of the second's.
    expect(prefixOf(filters[1])).toContain('"prefix":"istio-ext-authz-opa-ns["');
    expect(prefixOf(filters[3])).toContain('"prefix":"istio-ext-authz-opa-2-ns["');
  });

  test("over HTTP knows nothing of connections, which pass", () => {
    const { http: filters, network } = buildAccessPolicies(viewOf([http()], custom()));
    expect(namesOf(filters)).toEqual(["http.rbac", "http.ext_authz"]);
    expect(network).toEqual([]);
    expect(configOf(filters[1]).httpService).toEqual({
      serverUri: { uri: `http://${HOST}`, cluster: CLUSTER, timeout: "600s" },
    });
  });

  test("comes before tokens and before every other rule", () => {
    const tokens = { issuer: "a", jwks: '{"keys":[{"kty":"oct","k":"c2VjcmV0","alg":"HS256"}]}' };
    const view = viewOf(
      [http()],
      { kind: "AuthorizationPolicy", name: "audit", spec: { action: "AUDIT", rules: [{}] } },
      { kind: "RequestAuthentication", name: "tokens", spec: { jwtRules: [tokens] } },
      custom(),
    );
    expect(namesOf(buildAccessPolicies(view).http)).toEqual([
      "http.rbac",
      "http.ext_authz",
      "http.jwt_authn",
      "http.rbac",
    ]);
  });

  test("may be named with its namespace", () => {
    const view = viewOf([http({ service: `default/${HOST}` })], custom());
    expect(buildAccessPolicies(view)).toMatchObject({ problems: [], http: [{}, {}] });
  });

  test("is asked about all its policies by one pair of filters", () => {
    const { http: filters } = buildAccessPolicies(viewOf([grpc()], custom("opa", "a"), custom("opa", "b")));
    expect(namesOf(filters)).toEqual(["http.rbac", "http.ext_authz"]);
    expect(configOf(filters[0])).toMatchObject({
      shadowRules: {
        policies: {
          "istio-ext-authz-opa-ns[default]-policy[a]-rule[0]": rule,
          "istio-ext-authz-opa-ns[default]-policy[b]-rule[0]": rule,
        },
      },
    });
  });

  const matching = (...patterns: readonly object[]) => ({
    patterns: patterns.map((pattern) => ({ ...pattern, ignoreCase: true })),
  });
  test.each<{ settings: object; is: object }>([
    { settings: { timeout: "0.250s" }, is: { httpService: { serverUri: { timeout: "0.250s" } } } },
    { settings: { pathPrefix: "/check" }, is: { httpService: { pathPrefix: "/check" } } },
    { settings: { failOpen: true }, is: { failureModeAllow: true } },
    { settings: { clearRouteCache: true }, is: { clearRouteCache: true } },
    { settings: { statusOnError: "503" }, is: { statusOnError: { code: "ServiceUnavailable" } } },
    {
      settings: { includeRequestHeadersInCheck: ["x-a", "x-b*", "*-c"], includeHeadersInCheck: ["old"] },
      is: { allowedHeaders: matching({ exact: "x-a" }, { prefix: "x-b" }, { suffix: "-c" }) },
    },
    { settings: { includeHeadersInCheck: ["old"] }, is: { allowedHeaders: matching({ exact: "old" }) } },
    {
      settings: { includeAdditionalHeadersInCheck: { "x-b": "2", "x-a": "1" } },
      is: {
        httpService: {
          authorizationRequest: {
            headersToAdd: [
              { key: "x-a", value: "1" },
              { key: "x-b", value: "2" },
            ],
          },
        },
      },
    },
    {
      settings: { includeRequestBodyInCheck: { maxRequestBytes: 10, allowPartialMessage: true, packAsBytes: true } },
      is: { withRequestBody: { maxRequestBytes: 10, allowPartialMessage: true, packAsBytes: true } },
    },
    {
      settings: {
        headersToUpstreamOnAllow: ["u"],
        headersToDownstreamOnDeny: ["d"],
        headersToDownstreamOnAllow: ["a"],
      },
      is: {
        httpService: {
          authorizationResponse: {
            allowedUpstreamHeaders: matching({ exact: "u" }),
            allowedClientHeaders: matching({ exact: "d" }),
            allowedClientHeadersOnSuccess: matching({ exact: "a" }),
          },
        },
      },
    },
  ])("is asked as its settings say: $settings", ({ settings, is }) => {
    const { http: filters, problems } = buildAccessPolicies(viewOf([http(settings)], custom()));
    expect(problems).toEqual([]);
    expect(configOf(filters[1])).toMatchObject(is);
  });
});

describe("a provider that cannot be asked", () => {
  test.each<{ providers: readonly object[]; name?: string; reason: string | RegExp }>([
    { providers: [], reason: "the mesh has no such provider of authorization" },
    { providers: [{ name: "opa", zipkin: { service: HOST, port: 9000 } }], reason: /no such provider/ },
    { providers: [http({}, "Opa")], name: "Opa", reason: /lower case/ },
    { providers: [http({ service: "nobody.example" })], reason: /there is no service nobody.example/ },
    { providers: [http({ service: `other/${HOST}` })], reason: /there is no service other\// },
    { providers: [http({ port: 9001 })], reason: /has no port 9001/ },
    { providers: [http({ port: 0 })], reason: /port number 0 must be in the range/ },
    { providers: [http({ statusOnError: "299" })], reason: "statusOnError 299 is not a status that Envoy knows" },
    { providers: [http({ pathPrefix: "x" })], reason: /pathPrefix should begin with/ },
    { providers: [http({ headersToUpstreamOnAllow: ["*"] })], reason: /headersToUpstreamOnAllow: "\*" alone/ },
    { providers: [http({ includeAdditionalHeadersInCheck: { a: "b\r\nc: d" } })], reason: /"a" is not a header/ },
    { providers: [grpc({ includeRequestBodyInCheck: { packAsBytes: true } })], reason: /maxRequestBytes/ },
  ])("makes its policies deny: $reason", ({ providers, name = "opa", reason }) => {
    const { http: filters, network, problems } = buildAccessPolicies(viewOf(providers, custom(name)));
    expect(namesOf(filters)).toEqual(["http.rbac"]);
    expect(namesOf(network)).toEqual(["network.rbac"]);
    const key = `istio-ext-authz-${name}-ns[default]-policy[ask]-rule[0]-deny-due-to-bad-CUSTOM-action`;
    for (const [filter] of [filters, network]) {
      expect(configOf(filter)).toMatchObject({ rules: { action: "DENY", policies: { [key]: rule } } });
      expect(configOf(filter)).not.toHaveProperty("shadowRules");
    }
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^AuthorizationPolicy default\/ask asks provider .* what it matches is denied$/);
    if (typeof reason === "string") expect(problems[0]).toContain(`(${reason})`);
    else expect(problems[0]).toMatch(reason);
  });

  test("beside one that can: its own policies alone deny", () => {
    const { http: filters, problems } = buildAccessPolicies(viewOf([http()], custom("opa", "a"), custom("gone", "b")));
    expect(namesOf(filters)).toEqual(["http.rbac", "http.rbac", "http.ext_authz"]);
    expect(Object.keys((configOf(filters[0]).rules as { policies: object }).policies)).toEqual([
      "istio-ext-authz-gone-ns[default]-policy[b]-rule[0]-deny-due-to-bad-CUSTOM-action",
    ]);
    expect(problems).toEqual([expect.stringContaining('default/b asks provider "gone"')]);
  });

  test("by a policy on trial: it denies what it matches", () => {
    const yaml = documents(auth, custom()).replace(
      '"name":"ask"',
      '"name":"ask","annotations":{"istio.io/dry-run":"true"}',
    );
    const view = createTestMesh(yaml, meshYaml(grpc())).take().snapshot.view(testNode());
    const { http: filters, problems } = buildAccessPolicies(view);
    expect(configOf(filters[0])).toMatchObject({
      rules: { action: "DENY", policies: { "istio-ext-authz-opa-ns[default]-policy[ask]-rule[0]": rule } },
    });
    // Nothing leaves the note by which the provider would be asked.
    expect(JSON.stringify(configOf(filters[0]).shadowRules)).not.toContain("policy[ask]");
    expect(problems).toEqual([expect.stringContaining("providers are not asked on trial")]);
  });

  test("by servers without proxy: they deny, regardless of the providers", () => {
    expect(configOf(buildGrpcAccessFilters(viewOf([grpc()], custom()))[0])).toMatchObject({
      rules: { action: "DENY", policies: { "default-ask-0": rule } },
    });
  });
});

test("a provider whose service appears is asked from then on", () => {
  const mesh = createTestMesh(
    documents(service({ name: "web", endpoints: [{ address: "10.10.0.11" }] }), custom()),
    meshYaml(grpc()),
  );
  const source = createResourceSource({ onProblem: () => {} });
  const inbound = () => {
    const view = mesh.take().snapshot.view(testNode());
    const found = source.all(view, "LDS").resources.find(({ name }) => name === "virtualInbound");
    return found?.version;
  };
  const before = inbound();
  mesh.put(documents(auth));
  const after = inbound();
  expect(before).toBeDefined();
  expect(after).not.toBe(before);
});
