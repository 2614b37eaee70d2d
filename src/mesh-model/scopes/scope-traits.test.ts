import { describe, expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import type { ProxyView } from "../push-snapshot.ts";

const service = (endpoint: object, name = "web"): TestObject => ({
  kind: "ServiceEntry",
  name,
  spec: {
    hosts: [`${name}.default.svc.cluster.local`],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    endpoints: [{ address: "10.10.0.11", ...endpoint }],
  },
});
const strict: TestObject = {
  kind: "PeerAuthentication",
  name: "strict",
  spec: { selector: { matchLabels: { app: "web" } }, mtls: { mode: "STRICT" } },
};

const node = testNode({ labels: { app: "claimed", tier: "own" } });
const viewOf = (...objects: readonly TestObject[]): ProxyView =>
  createTestMesh(documents(...objects))
    .take()
    .snapshot.view(node);

describe("a workload as its registry knows it", () => {
  test("labels of its endpoint count before those that the proxy claims; others stay", () => {
    const { labels } = viewOf(service({ labels: { app: "web", version: "v1" } })).node;
    expect(labels).toMatchObject({ app: "web", version: "v1", tier: "own" });
    expect(viewOf(service({ address: "10.10.0.99", labels: { app: "web" } })).node).toBe(node);
  });

  test("rules choose it by these labels", () => {
    expect(viewOf(strict, service({ labels: { app: "web" } })).inbound.mtls).toBe("STRICT");
    expect(viewOf(strict, service({})).inbound.mtls).toBe("PERMISSIVE");
  });

  test("it runs where its endpoint does, else where the proxy says", () => {
    const placed = testNode({ labels: { "topology.kubernetes.io/region": "r9" } });
    const localityOf = (locality: string) =>
      createTestMesh(documents(service({ locality })))
        .take()
        .snapshot.view(placed).node.locality;
    expect(localityOf("r1/z1/s1")).toEqual({ region: "r1", zone: "z1", subzone: "s1" });
    expect(localityOf("")).toEqual({ region: "r9", zone: "", subzone: "" });
    const later = createTestMesh(documents(service({}), service({ locality: "r2" }, "zzz")));
    expect(later.take().snapshot.view(placed).node.locality).toEqual({ region: "r2", zone: "", subzone: "" });
  });

  test("of several services at its address the first is asked", () => {
    const objects = [service({ labels: { app: "b" } }, "b"), service({ labels: { app: "a" } }, "a")];
    expect(viewOf(...objects).node.labels).toMatchObject({ app: "a" });
  });

  test("what did not change is the same value, what did is another", () => {
    const before = viewOf(service({ labels: { app: "web" } }));
    expect(viewOf(service({ labels: { app: "web" }, weight: 7 })).node).toBe(before.node);
    const after = viewOf(service({ labels: { app: "other" } }));
    expect(after.node).not.toBe(before.node);
  });
});
