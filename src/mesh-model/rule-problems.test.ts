import { expect, test } from "vitest";
import { createTestMesh } from "../../test/support/mesh-model/create-test-mesh.ts";
import {
  destinationRule,
  documents,
  service,
  type TestObject,
  virtualService,
} from "../../test/support/mesh-model/test-objects.ts";

const route = (host: string) => ({ route: [{ destination: { host } }] });
const root = (delegate: Record<string, string>, more: Record<string, unknown> = {}) =>
  virtualService("root", ["web.example"], { http: [{ match: [{ uri: { prefix: "/a" } }], delegate, ...more }] });
const delegate = (spec: Record<string, unknown> = {}): TestObject => {
  return { kind: "VirtualService", name: "d", namespace: "prod", spec: { http: [route("x.example")], ...spec } };
};
const policy = { trafficPolicy: { connectionPool: { tcp: { maxConnections: 1 } } } };
const subset = (name: string) => ({ subsets: [{ name, labels: {} }] });

test.each<{ is: string; objects: readonly TestObject[]; says: readonly string[] }>([
  {
    is: "a mesh in order",
    objects: [service({ name: "a" }), virtualService("v", ["a"]), destinationRule("d", "a", policy)],
    says: [],
  },
  {
    is: "a port of a host described twice",
    objects: [
      service({ name: "a", host: "x.example", ports: [80] }),
      service({ name: "b", host: "x.example", ports: [80, 81] }),
    ],
    says: ["ServiceEntry default/b: port 80 of x.example is taken by ServiceEntry default/a, which comes first"],
  },
  {
    is: "a host in two namespaces",
    objects: [service({ name: "a", host: "x.example" }), service({ name: "a", namespace: "prod", host: "x.example" })],
    says: [],
  },
  {
    is: "a missing delegate",
    objects: [root({ name: "none" })],
    says: ["VirtualService default/root: spec.http[0]: delegate default/none does not exist"],
  },
  {
    is: "a hidden delegate",
    objects: [root({ name: "d", namespace: "prod" }), delegate({ exportTo: ["."] })],
    says: ["VirtualService default/root: spec.http[0]: delegate prod/d is not exported to namespace default"],
  },
  {
    is: "a delegate with hosts",
    objects: [root({ name: "d", namespace: "prod" }), delegate({ hosts: ["d.example"] })],
    says: ["VirtualService default/root: spec.http[0]: delegate prod/d has hosts of its own"],
  },
  {
    is: "a delegate's route that contradicts its root",
    objects: [
      root({ name: "d", namespace: "prod" }),
      delegate({ http: [{ match: [{ uri: { prefix: "/b" } }], ...route("x.example") }, route("x.example")] }),
    ],
    says: [
      "VirtualService prod/d: spec.http[0] contradicts spec.http[0] of VirtualService default/root and is not used there",
    ],
  },
  {
    is: "two rules for one host",
    objects: [virtualService("v1", ["web.example"]), virtualService("v2", ["web.example"], { namespace: "prod" })],
    says: ["VirtualService prod/v2: host web.example is ruled by VirtualService default/v1, which comes first"],
  },
  {
    is: "two rules for one host that no one sees both of",
    objects: [
      virtualService("v1", ["web.example"], { exportTo: ["."] }),
      virtualService("v2", ["web.example"], { namespace: "prod", exportTo: ["."] }),
    ],
    says: [],
  },
  {
    is: "two rules for one host, one of them for a gateway",
    objects: [virtualService("v1", ["web.example"]), virtualService("v2", ["web.example"], { gateways: ["edge"] })],
    says: [],
  },
  {
    is: "a subset twice",
    objects: [destinationRule("d1", "a", subset("v1")), destinationRule("d2", "a", subset("v1"))],
    says: ["DestinationRule default/d2: subset v1 is already in DestinationRule default/d1, which comes first"],
  },
  {
    is: "two policies for one host",
    objects: [destinationRule("d1", "a", policy), destinationRule("d2", "a", policy)],
    says: ["DestinationRule default/d2: trafficPolicy is not used: that of DestinationRule default/d1 comes first"],
  },
  {
    is: "a rule for some workloads that says otherwise",
    objects: [
      destinationRule("d1", "a", { ...policy, ...subset("v1") }),
      destinationRule("d2", "a", { ...policy, ...subset("v1"), workloadSelector: { matchLabels: { app: "x" } } }),
    ],
    says: [],
  },
])("$is: $says", ({ objects, says }) => {
  const problems = createTestMesh(documents(...objects))
    .take()
    .snapshot.problems();
  expect(
    problems.map(({ object: { kind, namespace, name }, message }) => `${kind} ${namespace}/${name}: ${message}`),
  ).toEqual(says);
});
