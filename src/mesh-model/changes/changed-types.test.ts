import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createTestMesh,
  type TestMesh,
  type TestNode,
  testNode,
} from "../../../test/support/mesh-model/create-test-mesh.ts";
import { ANY_OBJECTS, ANY_STEPS, apply, visible } from "../../../test/support/mesh-model/random-mesh.ts";
import {
  destinationRule,
  documents,
  peerAuthentication,
  service,
  type TestObject,
  virtualService,
} from "../../../test/support/mesh-model/test-objects.ts";
import type { ProxyView } from "../push-snapshot.ts";
import { changedTypes, proxyDependsOn } from "./changed-types.ts";

const endpoint = (address: string, serviceAccount = "api") => ({ address, labels: { app: "api" }, serviceAccount });
const api = (...addresses: string[]) =>
  service({ name: "api", namespace: "prod", endpoints: addresses.map((address) => endpoint(address)) });
const BASE = documents(
  service({ name: "web", endpoints: [{ address: "10.10.0.11" }] }),
  api("10.10.1.1"),
  service({ name: "hidden", namespace: "prod", exportTo: ["."] }),
  service({ name: "out", namespace: "prod", resolution: "DNS", endpoints: [{ address: "a.example" }] }),
);
const ALL = ["CDS", "EDS", "LDS", "RDS", "SDS", "ECDS", "NDS", "PCDS"];
const RULES = ["CDS", "EDS", "LDS", "RDS", "NDS"];

function typesAfter(change: (mesh: TestMesh) => void, node: TestNode = {}, more = ""): readonly string[] {
  const mesh = createTestMesh(`${BASE}\n---\n${more}`);
  const proxy = testNode(node);
  const before = mesh.take().snapshot.view(proxy);
  change(mesh);
  const { snapshot, changes } = mesh.take();
  const types = changedTypes(snapshot.view(proxy), before, changes);
  expect(proxyDependsOn(snapshot.view(proxy), before, changes)).toBe(types.size > 0);
  return [...types];
}

describe("types that a proxy may have changed resources of", () => {
  const put =
    (...objects: readonly TestObject[]) =>
    (mesh: TestMesh) =>
      mesh.put(documents(...objects));
  const policy = (kind: string, namespace: string): TestObject => {
    const specs: Record<string, Record<string, unknown>> = {
      AuthorizationPolicy: { action: "ALLOW", rules: [{}] },
      RequestAuthentication: { jwtRules: [{ issuer: "x" }] },
      EnvoyFilter: { configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: { name: "x" } } }] },
    };
    return { kind, name: "p", namespace, spec: specs[kind] ?? {} };
  };

  test.each<{ is: string; change: (mesh: TestMesh) => void; node?: TestNode; types: readonly string[] }>([
    { is: "nothing", change: () => undefined, types: [] },
    { is: "one more endpoint", change: put(api("10.10.1.1", "10.10.1.2")), types: ["EDS"] },
    { is: "an endpoint at another address", change: put(api("10.10.1.9")), types: ["EDS"] },
    { is: "no endpoint any more", change: put(api()), types: RULES },
    {
      is: "an endpoint of another identity",
      change: put(service({ name: "api", namespace: "prod", endpoints: [endpoint("10.10.1.1", "other")] })),
      types: RULES,
    },
    {
      is: "an endpoint that a cluster spells out",
      change: put(
        service({ name: "out", namespace: "prod", resolution: "DNS", endpoints: [{ address: "b.example" }] }),
      ),
      types: RULES,
    },
    {
      is: "an endpoint of a hidden service",
      change: put(service({ name: "hidden", namespace: "prod", exportTo: ["."], endpoints: [] })),
      types: [],
    },
    { is: "a new service", change: put(service({ name: "new" })), types: RULES },
    {
      is: "a new hidden service",
      change: put(service({ name: "new", namespace: "prod", exportTo: ["."] })),
      types: [],
    },
    { is: "a service that becomes visible", change: put(service({ name: "hidden", namespace: "prod" })), types: RULES },
    {
      is: "a service less",
      change: (mesh) => mesh.delete({ kind: "ServiceEntry", namespace: "prod", name: "api" }),
      types: RULES,
    },
    {
      is: "a route rule",
      change: put(virtualService("v", ["api"], { namespace: "prod" })),
      types: ["CDS", "LDS", "RDS"],
    },
    {
      is: "a hidden route rule",
      change: put(virtualService("v", ["api"], { namespace: "prod", exportTo: ["."] })),
      types: [],
    },
    {
      is: "a service rule",
      change: put(destinationRule("d", "api", { namespace: "prod" })),
      types: ["CDS", "EDS", "LDS", "RDS"],
    },
    {
      is: "a service rule for a host it does not see",
      change: put(destinationRule("d", "x.example", { namespace: "prod" })),
      types: [],
    },
    {
      is: "a Sidecar object that hides services",
      change: put({ kind: "Sidecar", name: "s", spec: { egress: [{ hosts: ["./*"] }] } }),
      types: RULES,
    },
    {
      is: "a Sidecar object that hides none",
      change: put({ kind: "Sidecar", name: "s", spec: { egress: [{ hosts: ["*/*"] }] } }),
      types: ["CDS", "LDS", "RDS", "NDS"],
    },
    {
      is: "a Sidecar object for others",
      change: put({
        kind: "Sidecar",
        name: "s",
        spec: { workloadSelector: { labels: { app: "x" } }, egress: [{ hosts: ["./*"] }] },
      }),
      types: [],
    },
    {
      is: "a mode of its own namespace",
      change: put(peerAuthentication("p", "default", { mtls: { mode: "STRICT" } })),
      types: ["CDS", "EDS", "LDS"],
    },
    {
      is: "a mode of a workload it calls",
      change: put(
        peerAuthentication("p", "prod", { selector: { matchLabels: { app: "api" } }, mtls: { mode: "DISABLE" } }),
      ),
      types: ["EDS"],
    },
    {
      is: "a mode of a strange namespace",
      change: put(peerAuthentication("p", "lab", { mtls: { mode: "STRICT" } })),
      types: [],
    },
    { is: "its authorization", change: put(policy("AuthorizationPolicy", "default")), types: ["LDS"] },
    { is: "everybody's authorization", change: put(policy("AuthorizationPolicy", "istio-system")), types: ["LDS"] },
    { is: "authorization elsewhere", change: put(policy("AuthorizationPolicy", "prod")), types: [] },
    { is: "its authentication", change: put(policy("RequestAuthentication", "default")), types: ["LDS"] },
    { is: "its telemetry", change: put(policy("Telemetry", "default")), types: ["LDS"] },
    { is: "its filters", change: put(policy("EnvoyFilter", "default")), types: ["CDS", "EDS", "LDS", "RDS", "ECDS"] },
    { is: "filters elsewhere", change: put(policy("EnvoyFilter", "prod")), types: [] },
    { is: "mesh settings", change: (mesh) => mesh.setMesh("connectTimeout: 1s"), types: ALL },
    {
      is: "a service at its own address",
      change: put(service({ name: "more", exportTo: ["."], ports: [90], endpoints: [{ address: "10.10.0.11" }] })),
      types: RULES,
    },
    {
      is: "a gateway, for a sidecar",
      change: put({
        kind: "Gateway",
        name: "g",
        spec: { servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }] },
      }),
      types: [],
    },
    {
      is: "a gateway, for a router",
      change: put({
        kind: "Gateway",
        name: "g",
        spec: { servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }] },
      }),
      node: { type: "router" },
      types: ["CDS", "LDS", "RDS"],
    },
    {
      is: "a Sidecar object, for a router",
      change: put({ kind: "Sidecar", name: "s", spec: { egress: [{ hosts: ["./*"] }] } }),
      node: { type: "router" },
      types: [],
    },
    {
      is: "a rule bound to a gateway, for a router",
      change: put(virtualService("v", ["x.example"], { gateways: ["g"] })),
      node: { type: "router" },
      types: ["CDS", "LDS", "RDS"],
    },
  ])("after $is: $types", ({ change, node, types }) => {
    expect(typesAfter(change, node)).toEqual(types);
  });

  test("a service that shows because a hidden one no longer has its port is seen", () => {
    const shared = { namespace: "prod", host: "shared.example", endpoints: [endpoint("10.10.0.12")] };
    const hidden = service({ name: "a", ...shared, exportTo: ["."] });
    const shown = service({ name: "c", ...shared });
    const types = typesAfter(
      (mesh) => mesh.delete({ kind: "ServiceEntry", namespace: "prod", name: "a" }),
      {},
      documents(hidden, shown),
    );
    expect(types).toEqual(expect.arrayContaining(["CDS", "RDS"]));
  });

  test("a proxy without an earlier view gets everything", () => {
    const { snapshot, changes } = createTestMesh(BASE).take();
    expect([...changedTypes(snapshot.view(testNode()), undefined, changes)]).toEqual(ALL);
  });

  test("a changed delegate reaches those who see its root", () => {
    const root = virtualService("root", ["api"], { namespace: "prod", http: [{ delegate: { name: "d" } }] });
    const delegate = (name: string): TestObject => {
      return {
        kind: "VirtualService",
        name: "d",
        namespace: "prod",
        spec: { http: [{ name, route: [{ destination: { host: "api" } }] }] },
      };
    };
    const change = (mesh: TestMesh) => mesh.put(documents(delegate("b")));
    expect(typesAfter(change, {}, documents(root, delegate("a")))).toEqual(["CDS", "LDS", "RDS"]);
  });
});

/** Endpoints by the cluster that a client asks about. */
function assignments({ outbound, snapshot }: ProxyView) {
  const entries = outbound.services.flatMap((one) =>
    one.ports.map(({ port, name }) => {
      const endpoints = snapshot.endpoints(one.key).filter(({ servicePortName }) => servicePortName === name);
      const served = endpoints.map((each) => [each.addresses, each.port, outbound.endpointMtls(each)]);
      return [`${one.hostname}:${port}`, [served, outbound.destinationRule(one)?.spec]] as const;
    }),
  );
  return new Map(entries);
}

test("after any change of a mesh, no type that shows it is passed over", () => {
  const node = testNode({ labels: { app: "a" } });
  fc.assert(
    fc.property(ANY_OBJECTS, ANY_STEPS, (start, steps) => {
      const mesh = createTestMesh(documents(...start));
      let before = mesh.take().snapshot.view(node);
      for (const actions of steps) {
        apply(mesh, actions);
        const { snapshot, changes } = mesh.take();
        const view = snapshot.view(node);
        const types = changedTypes(view, before, changes);
        const [now, then] = [visible(view), visible(before)];
        for (const type of ["CDS", "LDS", "RDS", "NDS"] as const) {
          if (!types.has(type)) expect(now[type], type).toEqual(then[type]);
        }
        if (!types.has("EDS")) {
          // A client asks by itself for clusters that are new to it.
          const known = assignments(before);
          for (const [name, assignment] of assignments(view)) {
            if (known.has(name)) expect(assignment, name).toEqual(known.get(name));
          }
        }
        before = view;
      }
    }),
    { numRuns: 150 },
  );
});
