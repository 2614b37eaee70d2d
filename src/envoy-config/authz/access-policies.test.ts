import { expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { createResourceSource } from "../create-resource-source.ts";
import type { ResourceProblem } from "../resource-problems.ts";
import { buildAccessPolicies, buildGrpcAccessFilters } from "./access-policies.ts";

const policy = (name: string, spec: object, namespace = "default"): TestObject => ({
  kind: "AuthorizationPolicy",
  name,
  namespace,
  spec: { rules: [{}], ...spec },
});
const viewOf = (...objects: readonly TestObject[]) =>
  createTestMesh(documents(...objects))
    .take()
    .snapshot.view(testNode({ labels: { app: "web" } }));

/** Per filter its action and the keys of its policies. */
function shapeOf(filters: readonly { readonly typedConfig?: unknown }[]): readonly string[] {
  return filters.map(({ typedConfig }) => {
    const { rules = {} } = typedConfig as { rules?: { action?: string; policies?: object } };
    return `${rules.action ?? "ALLOW"} ${Object.keys(rules.policies ?? {}).join(" ")}`;
  });
}

test("without policies nothing is in the way", () => {
  expect(buildAccessPolicies(viewOf())).toMatchObject({ http: [], network: [], problems: [] });
});

test("there is one filter per action: what no one can be asked about, what is audited, then denied, then allowed", () => {
  const { http, network, problems } = buildAccessPolicies(
    viewOf(
      policy("allow", {}),
      policy("deny", { action: "DENY" }),
      policy("audit", { action: "AUDIT" }),
      policy("custom", { action: "CUSTOM", provider: { name: "opa" } }),
    ),
  );
  const shape = [
    "DENY istio-ext-authz-opa-ns[default]-policy[custom]-rule[0]-deny-due-to-bad-CUSTOM-action",
    "LOG ns[default]-policy[audit]-rule[0]",
    "DENY ns[default]-policy[deny]-rule[0]",
    "ALLOW ns[default]-policy[allow]-rule[0]",
  ];
  expect(shapeOf(http)).toEqual(shape);
  expect(shapeOf(network)).toEqual(shape);
  expect(problems).toEqual([
    'AuthorizationPolicy default/custom asks provider "opa", which cannot be asked ' +
      "(the mesh has no such provider of authorization): what it matches is denied",
  ]);
});

test.each([
  { is: "of its namespace", object: policy("a", {}), reaches: true },
  { is: "of the root namespace", object: policy("a", {}, "istio-system"), reaches: true },
  { is: "of another namespace", object: policy("a", {}, "prod"), reaches: false },
  { is: "for its labels", object: policy("a", { selector: { matchLabels: { app: "web" } } }), reaches: true },
  { is: "for other labels", object: policy("a", { selector: { matchLabels: { app: "db" } } }), reaches: false },
  {
    is: "for a gateway",
    object: policy("a", { targetRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "g" }] }),
    reaches: false,
  },
])("a policy $is reaches a workload: $reaches", ({ object, reaches }) => {
  expect(buildAccessPolicies(viewOf(object)).http).toHaveLength(reaches ? 1 : 0);
});

test("servers without proxy get filters of different names", () => {
  const filters = buildGrpcAccessFilters(
    viewOf(policy("allow", {}), policy("deny", { action: "DENY" }), policy("audit", { action: "AUDIT" })),
  );
  expect(filters.map(({ name }) => name)).toEqual(["envoy.filters.http.rbac.DENY", "envoy.filters.http.rbac"]);
  expect(shapeOf(filters)).toEqual(["DENY default-deny-0", "ALLOW default-allow-0"]);
});

test("a policy that changes makes another listener, and what no one can do is reported", () => {
  const problems: ResourceProblem[] = [];
  const source = createResourceSource({ onProblem: (problem) => problems.push(problem) });
  const mesh = createTestMesh(documents(policy("a", { action: "DENY" })));
  const inbound = () =>
    source.all(mesh.take().snapshot.view(testNode()), "LDS").resources.find(({ name }) => name === "virtualInbound");
  const denied = inbound()?.version;
  mesh.put(documents(policy("a", { action: "ALLOW" })));
  const allowed = inbound()?.version;
  expect(allowed).not.toBe(denied);
  expect(problems).toEqual([]);
  mesh.put(documents(policy("a", { action: "CUSTOM", provider: { name: "opa" } })));
  expect(inbound()?.version).not.toBe(allowed);
  expect(problems).toMatchObject([{ effect: "refused-rule", type: "LDS", resource: "virtualInbound" }]);
});

test.each([
  { from: [{ source: { requestPrincipals: ["*"] } }] },
  { to: [{ operation: { paths: ["/a/{*}"] } }] },
  { when: [{ key: "connection.sni", values: ["a"] }] },
])("what gRPC cannot ask denies everyone: %j", (rule) => {
  const view = viewOf(policy("allow", { rules: [rule] }), policy("deny", { action: "DENY", rules: [rule] }));
  const everybody = { permissions: [{ any: true }], principals: [{ any: true }] };
  expect(buildGrpcAccessFilters(view).map(({ typedConfig }) => typedConfig)).toMatchObject([
    { rules: { action: "DENY", policies: { "default-deny-0": everybody } } },
    { rules: { policies: {} } },
  ]);
});
