import { expect, test } from "vitest";
import { createTestMesh, type TestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, service, type TestObject, virtualService } from "../../../test/support/mesh-model/test-objects.ts";

const gateway = (port: number): TestObject => ({
  kind: "Gateway",
  name: "edge",
  spec: {
    selector: { app: "edge" },
    servers: [{ port: { number: port, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
  },
});
const bound = (name: string, gateways: readonly string[]) => virtualService(name, [`${name}.example`], { gateways });
const BASE = documents(service({ name: "web" }), gateway(80), bound("a", ["edge"]), bound("mesh", ["mesh"]));
const ROUTER = { type: "router", labels: { app: "edge" } } as const;

const contentsOf = (mesh: TestMesh, node: Parameters<typeof testNode>[0]) => {
  const proxy = testNode(node);
  return () => mesh.take().snapshot.view(proxy).outbound;
};

test("a router has the Gateways that select it and the rules bound to them", () => {
  const { gateways } = contentsOf(createTestMesh(BASE), ROUTER)();
  expect(gateways?.gateways.map(({ name }) => name)).toEqual(["edge"]);
  expect(gateways?.virtualServices.map(({ object }) => object.name)).toEqual(["a"]);
});

test.each([
  { is: "the Gateway", change: documents(gateway(81)), isSame: false },
  { is: "a rule bound to it", change: documents(bound("b", ["edge"])), isSame: false },
  { is: "a rule bound to another", change: documents(bound("b", ["other"])), isSame: true },
])("after a change of $is, the content is the same value: $isSame", ({ change, isSame }) => {
  const mesh = createTestMesh(BASE);
  const take = contentsOf(mesh, ROUTER);
  const before = take();
  mesh.put(change);
  expect(take().content === before.content).toBe(isSame);
});

test("sidecars do not notice Gateways", () => {
  const mesh = createTestMesh(BASE);
  const take = contentsOf(mesh, { labels: { app: "edge" } });
  const before = take();
  mesh.put(documents(gateway(81)));
  const after = take();
  expect(after.content).toBe(before.content);
  expect(after.gateways).toBeUndefined();
  expect(after.traits).not.toHaveProperty("routerPorts");
  expect(after.traits.labels).toEqual({});
});

test("routers share what they see unless a Gateway tells them apart", () => {
  const { snapshot } = createTestMesh(BASE).take();
  const scope = (labels: Readonly<Record<string, string>>) =>
    snapshot.view(testNode({ type: "router", labels })).outbound;
  expect(scope({ app: "edge", pod: "1" })).toBe(scope({ app: "edge", pod: "2" }));
  expect(scope({ app: "edge" })).not.toBe(scope({ app: "other" }));
});
