import { expect, test } from "vitest";
import { createTestMesh, type TestNode, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { envoyFilter, patch } from "../../../test/support/mesh-model/patched-mesh.ts";
import { documents, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { patchBootstrap } from "./patch-bootstrap.ts";

const DOCUMENT = {
  stats_flush_interval: "5s",
  static_resources: { clusters: [{ name: "agent" }], listeners: [{ name: "status" }] },
};

function patched(objects: readonly TestObject[], node: TestNode = {}) {
  const { snapshot } = createTestMesh(documents(...objects)).take();
  const problems: string[] = [];
  const { outbound } = snapshot.view(testNode({ labels: { app: "web" }, ...node }));
  const bootstrap = patchBootstrap(DOCUMENT, outbound, (_, reason) => problems.push(reason));
  return { bootstrap, problems };
}
const flush = (seconds: number, match?: { context: string }) =>
  patch("BOOTSTRAP", "MERGE", match, { stats_flush_interval: `${seconds}s` });

test("patches are merged in their order, and lists get longer", () => {
  const cluster = patch("BOOTSTRAP", "MERGE", undefined, { static_resources: { clusters: [{ name: "mine" }] } });
  const { bootstrap, problems } = patched([envoyFilter([flush(1), cluster, flush(2)])]);
  expect(bootstrap).toMatchObject({ statsFlushInterval: "2s" });
  expect(bootstrap.staticResources?.clusters?.map(({ name }) => name)).toEqual(["agent", "mine"]);
  expect(problems).toEqual([]);
});

test.each<{ of: string; given: object; objects: TestObject[]; seconds: string }>([
  { of: "sidecars", given: {}, objects: [envoyFilter([flush(1, { context: "SIDECAR_INBOUND" })])], seconds: "1s" },
  { of: "gateways alone", given: {}, objects: [envoyFilter([flush(1, { context: "GATEWAY" })])], seconds: "5s" },
  {
    of: "gateways",
    given: { type: "router" },
    objects: [envoyFilter([flush(1, { context: "GATEWAY" })])],
    seconds: "1s",
  },
  {
    of: "other workloads",
    given: {},
    objects: [envoyFilter([flush(1)], { spec: { workloadSelector: { labels: { app: "api" } } } })],
    seconds: "5s",
  },
])("a patch for $of", ({ given, objects, seconds }) => {
  expect(patched(objects, given).bootstrap.statsFlushInterval).toBe(seconds);
});

test.each(["clusters", "listeners"])(
  "a patch that repeats a name of static %s is left out, and those beside it stay",
  (list) => {
    const name = list === "clusters" ? "agent" : "status";
    const again = patch("BOOTSTRAP", "MERGE", undefined, { static_resources: { [list]: [{ name }] } });
    const { bootstrap, problems } = patched([envoyFilter([again, flush(3)])]);
    expect(bootstrap.statsFlushInterval).toBe("3s");
    expect(bootstrap.staticResources?.[list as "clusters"]).toHaveLength(1);
    expect(problems).toEqual([`EnvoyFilter default/f: configPatches[0]: the name ${name} is taken`]);
  },
);
