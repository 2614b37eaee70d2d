import { expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents } from "../../../test/support/mesh-model/test-objects.ts";
import { buildAccessPolicies } from "./access-policies.ts";

/** The one policy that a rule becomes, on a chain with or without HTTP. Undefined: the rule is not there. */
function compile(rule: object, { layer = "http", action = "ALLOW", mesh = "" } = {}) {
  const spec = { action, rules: [rule] };
  const yaml = documents({ kind: "AuthorizationPolicy", name: "a", namespace: "default", spec });
  const policies = buildAccessPolicies(createTestMesh(yaml, mesh).take().snapshot.view(testNode()));
  const [filter] = layer === "http" ? policies.http : policies.network;
  const config = JSON.parse(JSON.stringify(filter?.typedConfig)) as {
    readonly rules: { readonly policies: Record<string, { permissions: unknown[]; principals: unknown[] }> };
  };
  return config.rules.policies["ns[default]-policy[a]-rule[0]"];
}

const any = { any: true };
const named = (principalName: object) => ({ authenticated: { principalName } });
const regex = (text: string) => ({ safeRegex: { regex: text } });
const header = (name: string, stringMatch: object) => ({ header: { name, stringMatch } });
const token = (path: readonly string[], value: object) => ({
  metadata: {
    filter: "envoy.filters.http.jwt_authn",
    path: ["payload", ...path].map((key) => ({ key })),
    value,
  },
});
const caller = (issuer: object, subject: object) => ({
  andIds: { ids: [token(["iss"], { stringMatch: issuer }), token(["sub"], { stringMatch: subject })] },
});
const claim = (path: readonly string[], stringMatch: object) =>
  token(path, { orMatch: { valueMatchers: [{ listMatch: { oneOf: { stringMatch } } }, { stringMatch }] } });

test.each([
  { source: { principals: ["cluster.local/ns/a/sa/b"] }, is: named({ exact: "spiffe://cluster.local/ns/a/sa/b" }) },
  { source: { principals: ["other/ns/a/*"] }, is: named({ prefix: "spiffe://other/ns/a/" }) },
  { source: { principals: ["*/sa/b.c"] }, is: named(regex("spiffe://.*/sa/b\\.c")) },
  { source: { principals: ["*"] }, is: named(regex(".+")) },
  { source: { notPrincipals: ["*"] }, is: { notId: named(regex(".+")) } },
  { source: { namespaces: ["a"] }, is: named(regex(".*/ns/a/.*")) },
  { source: { namespaces: ["*-a"] }, is: named(regex(".*/ns/.*-a/.*")) },
  { source: { serviceAccounts: ["b"] }, is: named(regex("spiffe://.+/ns/default/(.+/|)sa/b(/.+)?")) },
  { source: { serviceAccounts: ["x/b.c"] }, is: named(regex("spiffe://.+/ns/x/(.+/|)sa/b\\.c(/.+)?")) },
  { source: { trustDomains: ["a.example"] }, is: named({ prefix: "spiffe://a.example/" }) },
  { source: { trustDomains: ["*.example"] }, is: named(regex("spiffe://[^/]*\\.example/.*")) },
  { source: { ipBlocks: ["10.1.2.3/8"] }, is: { directRemoteIp: { addressPrefix: "10.0.0.0", prefixLen: 8 } } },
  { source: { remoteIpBlocks: ["::1"] }, is: { remoteIp: { addressPrefix: "::1", prefixLen: 128 } } },
  { source: { requestPrincipals: ["*"] }, is: caller(regex(".+"), regex(".+")) },
  { source: { requestPrincipals: ["https://a/b"] }, is: caller({ exact: "https://a" }, { exact: "b" }) },
  { source: { requestPrincipals: ["*/b"] }, is: caller(regex(".+"), { exact: "b" }) },
  { source: { requestPrincipals: ["*b"] }, is: caller(regex(".+"), { suffix: "b" }) },
  { source: { requestPrincipals: ["a*"] }, is: caller({ prefix: "a" }, regex(".+")) },
  { source: { requestPrincipals: ["https://*"] }, is: caller({ prefix: "https://" }, regex(".+")) },
  {
    source: { requestPrincipals: ["https://a*"] },
    is: caller({ prefix: "https://a" }, regex(".+")),
  },
  // Not the issuer a/b2 as well: who may call would depend on which issuers there are.
  { source: { requestPrincipals: ["a/b*"] }, is: caller({ exact: "a" }, { prefix: "b" }) },
])("the source $source", ({ source, is }) => {
  expect(compile({ from: [{ source }] })).toEqual({ permissions: [any], principals: [is] });
});

test.each([
  { operation: { hosts: ["A.example"] }, is: header(":authority", { exact: "A.example", ignoreCase: true }) },
  { operation: { hosts: ["*"] }, is: { header: { name: ":authority", presentMatch: true } } },
  { operation: { methods: ["GET"] }, is: header(":method", { exact: "GET" }) },
  { operation: { paths: ["/a*"] }, is: { urlPath: { path: { prefix: "/a" } } } },
  { operation: { paths: ["*"] }, is: { urlPath: { path: regex(".+") } } },
  { operation: { notPaths: ["*.css"] }, is: { notRule: { urlPath: { path: { suffix: ".css" } } } } },
  {
    operation: { ports: ["80", "81"] },
    is: { orRules: { rules: [{ destinationPort: 80 }, { destinationPort: 81 }] } },
  },
])("the operation $operation", ({ operation, is }) => {
  expect(compile({ to: [{ operation }] })).toEqual({ permissions: [is], principals: [any] });
});

test.each([
  {
    key: "destination.ip",
    value: "10.0.0.1",
    permission: { destinationIp: { addressPrefix: "10.0.0.1", prefixLen: 32 } },
  },
  { key: "destination.port", value: "80", permission: { destinationPort: 80 } },
  { key: "connection.sni", value: "*.a", permission: { requestedServerName: { suffix: ".a" } } },
  {
    key: "experimental.envoy.filters.network.mysql_proxy[db.t]",
    value: "[select]",
    permission: {
      metadata: {
        filter: "envoy.filters.network.mysql_proxy",
        path: [{ key: "db.t" }],
        value: { listMatch: { oneOf: { stringMatch: { exact: "select" } } } },
      },
    },
  },
  { key: "source.namespace", value: "a", principal: named(regex(".*/ns/a/.*")) },
  { key: "source.ip", value: "10.0.0.1", principal: { directRemoteIp: { addressPrefix: "10.0.0.1", prefixLen: 32 } } },
  { key: "request.headers[x-a]", value: "b*", principal: header("x-a", { prefix: "b" }) },
  { key: "request.headers[x-a]", value: "*", principal: { header: { name: "x-a", presentMatch: true } } },
  { key: "request.auth.principal", value: "a/b", principal: caller({ exact: "a" }, { exact: "b" }) },
  { key: "request.auth.audiences", value: "a", principal: claim(["aud"], { exact: "a" }) },
  { key: "request.auth.presenter", value: "a", principal: claim(["azp"], { exact: "a" }) },
  { key: "request.auth.claims[a][b]", value: "*", principal: claim(["a", "b"], regex(".+")) },
])("the condition $key $value", ({ key, value, permission = any, principal = any }) => {
  const rule = { when: [{ key, values: [value] }] };
  expect(compile(rule)).toEqual({ permissions: [permission], principals: [principal] });
});

test("everything of a source, an operation and the conditions must hold together", () => {
  const rule = {
    from: [{ source: { namespaces: ["a"], notIpBlocks: ["10.0.0.1"] } }, { source: { principals: ["*"] } }],
    to: [{ operation: { methods: ["GET"], ports: ["80"] } }],
    when: [{ key: "request.headers[x]", values: ["y"] }],
  };
  const x = header("x", { exact: "y" });
  const notAddress = { notId: { directRemoteIp: { addressPrefix: "10.0.0.1", prefixLen: 32 } } };
  expect(compile(rule)).toEqual({
    permissions: [{ andRules: { rules: [header(":method", { exact: "GET" }), { destinationPort: 80 }] } }],
    principals: [
      { andIds: { ids: [named(regex(".*/ns/a/.*")), notAddress, x] } },
      { andIds: { ids: [named(regex(".+")), x] } },
    ],
  });
});

test.each([
  { from: [{ source: { requestPrincipals: ["*"] } }] },
  { to: [{ operation: { hosts: ["a"] } }] },
  { to: [{ operation: { methods: ["GET"] } }] },
  { to: [{ operation: { notPaths: ["/"] } }] },
  { when: [{ key: "request.headers[x]", notValues: ["a"] }] },
  { when: [{ key: "request.auth.claims[x]", values: ["a"] }] },
])("without HTTP no one is allowed by %j, and everybody is denied by it", (rule) => {
  expect(compile(rule, { layer: "tcp" })).toBeUndefined();
  const everybody = { permissions: [any], principals: [any] };
  for (const action of ["DENY", "AUDIT"]) expect(compile(rule, { layer: "tcp", action })).toEqual(everybody);
});

test.each([
  { mesh: "", principal: "cluster.local/ns/a/sa/b", domains: ["cluster.local"] },
  { mesh: "trustDomain: td", principal: "cluster.local/ns/a/sa/b", domains: ["td"] },
  { mesh: "trustDomain: td\ntrustDomainAliases: [old]", principal: "td/ns/a/sa/b", domains: ["td", "old"] },
  { mesh: "trustDomain: td\ntrustDomainAliases: [old]", principal: "old/ns/a/sa/b", domains: ["td", "old"] },
  { mesh: "trustDomain: td\ntrustDomainAliases: [old]", principal: "else/ns/a/sa/b", domains: ["else"] },
])("in a mesh $mesh, $principal is one of $domains", ({ mesh, principal, domains }) => {
  const ids = domains.map((domain) => named({ exact: `spiffe://${domain}/ns/a/sa/b` }));
  const [only] = ids;
  expect(compile({ from: [{ source: { principals: [principal] } }] }, { mesh })?.principals).toEqual(
    ids.length === 1 ? [only] : [{ orIds: { ids } }],
  );
});

test("a pattern of a trust domain of the mesh stands for the others too", () => {
  const mesh = "trustDomain: new-td\ntrustDomainAliases: [old-td, other]";
  expect(compile({ from: [{ source: { principals: ["*-td/ns/a/sa/b"] } }] }, { mesh })?.principals).toEqual([
    { orIds: { ids: [named(regex("spiffe://.*-td/ns/a/sa/b")), named({ exact: "spiffe://other/ns/a/sa/b" })] } },
  ]);
});

test.each([{ source: { trustDomains: ["old"] } }, { source: { trustDomains: ["td", "old"] } }])(
  "in a mesh with an alias $source is each of its trust domains",
  ({ source }) => {
    const mesh = "trustDomain: td\ntrustDomainAliases: [old]";
    const ids = ["td", "old"].map((domain) => named({ prefix: `spiffe://${domain}/` }));
    expect(compile({ from: [{ source }] }, { mesh })?.principals).toEqual([{ orIds: { ids } }]);
    const key = "source.trustDomain";
    expect(compile({ when: [{ key, notValues: source.trustDomains }] }, { mesh })?.principals).toEqual([
      { notId: { orIds: { ids } } },
    ]);
  },
);

test("several findings of another filter are one question", () => {
  const finding = "experimental.envoy.filters.a.b[c]";
  expect(compile({ when: [{ key: finding, values: ["x*", "[y]"] }] })?.permissions).toEqual([
    {
      metadata: {
        filter: "envoy.filters.a.b",
        path: [{ key: "c" }],
        value: {
          orMatch: {
            valueMatchers: [
              { stringMatch: { prefix: "x" } },
              { listMatch: { oneOf: { stringMatch: { exact: "y" } } } },
            ],
          },
        },
      },
    },
  ]);
});
