import { describe, expect, test } from "vitest";
import { formatPath } from "../../protobuf/json/read-message.ts";
import { decodeObject } from "../decode/decode-object.ts";
import { parsePathTemplate } from "./authorization-policy-path.ts";

function problemsOf(spec: unknown): readonly string[] {
  const metadata = { name: "x", namespace: "prod" };
  const document = { apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy", metadata, spec };
  return decodeObject(document, { defaultNamespace: "default" }).problems.map(
    ({ path, message, severity }) => `${severity} ${formatPath(path).replace(/^spec\.?/, "")}: ${message}`,
  );
}

const never =
  "action without `rules` is meaningless as it will never be triggered, add an empty rule `{}` if you want it be triggered on every request";
const rule = (member: object) => ({ rules: [member] });
const from = (source: object) => rule({ from: [{ source }] });
const to = (operation: object) => rule({ to: [{ operation }] });
const when = (condition: object) => rule({ when: [condition] });

describe("AuthorizationPolicy", () => {
  test.each<{ spec: object; says: unknown[] }>([
    { spec: { rules: [{}] }, says: [] },
    { spec: {}, says: ["warning rules: ALLOW action without `rules` matches nothing: every request is denied"] },
    { spec: { action: "DENY" }, says: [`error rules: DENY ${never}`] },
    { spec: { action: "AUDIT" }, says: ["warning rules: AUDIT action without `rules` matches nothing"] },
    {
      spec: { selector: {}, targetRef: { kind: "Service", namespace: "n" }, rules: [{}] },
      says: [
        expect.stringMatching(/^warning targetRef: has no effect: .* the Gateway API/),
        "error : only one of targetRefs or workloadSelector can be set",
        "error targetRef.name: targetRef name must be set",
        "error targetRef.namespace: targetRef namespace must not be set; cross namespace referencing is not supported",
      ],
    },
    {
      spec: { targetRefs: [{ kind: "Gateway", name: "g" }], rules: [{}] },
      says: [
        expect.stringMatching(/^warning targetRefs: has no effect/),
        "error targetRefs[0]: targetRef must be to one of core/Service, networking.istio.io/ServiceEntry, gateway.networking.k8s.io/Gateway, gateway.networking.k8s.io/GatewayClass but was /Gateway",
      ],
    },
    { spec: { action: "CUSTOM", rules: [{}] }, says: ["error provider: `provider.name` must not be empty"] },
    { spec: { action: "CUSTOM", provider: { name: "opa" }, rules: [{}] }, says: [] },
    {
      spec: {
        action: "CUSTOM",
        provider: { name: "opa" },
        rules: [
          {
            from: [
              { source: { namespaces: ["a"] } },
              { source: { requestPrincipals: ["*"], notRequestPrincipals: ["a/b"] } },
            ],
          },
          {
            when: [
              { key: "source.ip", values: ["1.2.3.4"] },
              { key: "request.auth.claims[a]", values: ["b"] },
            ],
          },
        ],
      },
      says: [
        "error rules[0].from[1].source.requestPrincipals: requestPrincipals is not supported with CUSTOM action",
        "error rules[0].from[1].source.notRequestPrincipals: notRequestPrincipals is not supported with CUSTOM action",
        "error rules[1].when[1].key: request.auth.claims[a] is not supported with CUSTOM action",
      ],
    },
    {
      spec: { provider: { name: "opa" }, rules: [{}] },
      says: ["error provider: `provider` must not be with non CUSTOM action, found ALLOW"],
    },
    { spec: rule({ from: [{}] }), says: ["error rules[0].from[0]: `from` must not be empty, found at rule 0"] },
    { spec: rule({ to: [{}] }), says: ["error rules[0].to[0]: `to` must not be empty, found at rule 0"] },
    { spec: from({}), says: ["error rules[0].from[0].source: `source` must not be empty, found at rule 0"] },
    { spec: to({}), says: ["error rules[0].to[0].operation: `operation` must not be empty, found at rule 0"] },
    {
      spec: from({ principals: [""] }),
      says: ["error rules[0].from[0].source.principals[0]: value must not be empty"],
    },
    { spec: from({ serviceAccounts: ["a", "b/c"] }), says: [] },
    {
      spec: from({ serviceAccounts: ["a"], notNamespaces: ["b"] }),
      says: [
        "error rules[0].from[0].source: cannot set serviceAccounts with namespaces or principals, found at rule 0",
      ],
    },
    {
      spec: from({ notServiceAccounts: ["a/*"] }),
      says: ["error rules[0].from[0].source.notServiceAccounts[0]: a/* is not NAMESPACE/SERVICE_ACCOUNT"],
    },
    {
      spec: from({ notIpBlocks: ["10.0.0.0/33", "::1"] }),
      says: ["error rules[0].from[0].source.notIpBlocks[0]: 10.0.0.0/33 is not a valid CIDR block"],
    },
    { spec: from({ requestPrincipals: ["*", "a/b", "a*", "*b", "https://x/*"] }), says: [] },
    {
      spec: from({ requestPrincipals: ["alice"] }),
      says: ["error rules[0].from[0].source.requestPrincipals[0]: alice is not ISSUER/SUBJECT"],
    },
    {
      spec: to({ ports: ["0", "http", "80"] }),
      says: [
        "error rules[0].to[0].operation.ports[0]: port number 0 must be in the range 1..65535",
        'error rules[0].to[0].operation.ports[1]: invalid port "http"',
      ],
    },
    { spec: to({ paths: ["/a/{*}/b/{**}", "/a*", "*"] }), says: [] },
    {
      spec: to({ notPaths: ["/a/{id}"] }),
      says: [
        "error rules[0].to[0].operation.notPaths[0]: invalid or unsupported path /a/{id}. Contains '{' or '}' beyond a supported path template",
      ],
    },
    {
      spec: when({ key: "source.ip" }),
      says: ["error rules[0].when[0]: at least one of `values` or `notValues` must be set for key source.ip"],
    },
    { spec: when({ values: ["a"] }), says: ["error rules[0].when[0].key: `key` must not be empty"] },
    {
      spec: when({ key: "source.user", values: ["a"] }),
      says: ["error rules[0].when[0].key: unknown attribute: source.user"],
    },
    {
      spec: when({ key: "destination.port", notValues: ["70000"] }),
      says: ["error rules[0].when[0].notValues[0]: port number 70000 must be in the range 1..65535"],
    },
    {
      spec: { selector: { matchLabels: { app: "*" } }, rules: [{}] },
      says: ["error selector.matchLabels.app: wildcard is not supported in selector: app: *"],
    },
  ])("$spec: $says", ({ spec, says }) => {
    expect(problemsOf(spec)).toEqual(says);
  });

  test.each([
    "request.headers[x-env]",
    "request.headers[:authority]",
    "request.auth.claims[a][b]",
    "request.auth.presenter",
    "source.trustDomain",
    "source.serviceAccount",
    "connection.sni",
    "experimental.envoy.filters.network.mysql_proxy[db.table]",
  ])("conditions may ask for %s", (key) => {
    expect(problemsOf(when({ key, values: ["a"] }))).toEqual([]);
  });

  test.each(["request.headers", "request.headers[]", "request.headers[a b]", "request.auth.claims", "source.ips"])(
    "conditions may not ask for %s",
    (key) => {
      expect(problemsOf(when({ key, values: ["a"] }))).toEqual([
        `error rules[0].when[0].key: unknown attribute: ${key}`,
      ]);
    },
  );
});

test.each([
  { path: "/a/{*}", means: "/a/*" },
  { path: "/a/{*}/{**}", means: "/a/*/**" },
  { path: "/{**}/end", means: "/**/end" },
  { path: "/{**}.css", means: "/**.css" },
  { path: "/{**}/{*}", means: undefined },
  { path: "/{**}/{**}", means: undefined },
  { path: "/a{*}", means: undefined },
  { path: "/{*}b", means: undefined },
  { path: "/{*}/*", means: undefined },
  { path: "a/{*}", means: undefined },
  { path: "//{*}", means: undefined },
])("the template $path is $means to Envoy", ({ path, means }) => {
  expect(parsePathTemplate(path)).toBe(means);
});
