import { expect, test } from "vitest";
import { strategicMerge } from "./strategic-merge.ts";

const names = (pod: unknown, list: string) =>
  ((pod as { spec: Record<string, { name: string }[]> }).spec[list] ?? []).map(({ name }) => name);

test("items that a patch adds come before those that were there, which keep their order", () => {
  const pod = { spec: { volumes: [{ name: "a" }, { name: "b" }] } };
  const merged = strategicMerge("PodTemplateSpec", pod, { spec: { volumes: [{ name: "x" }, { name: "y" }] } });
  expect(names(merged, "volumes")).toEqual(["x", "y", "a", "b"]);
});

test("an item stays before the item of the patch that stood after it", () => {
  const pod = { spec: { containers: [{ name: "a" }, { name: "proxy" }, { name: "b" }] } };
  const merged = strategicMerge("PodTemplateSpec", pod, { spec: { containers: [{ name: "proxy", image: "i" }] } });
  expect(names(merged, "containers")).toEqual(["a", "proxy", "b"]);
});

test("containers merge member by member, environment by name, arguments as a whole", () => {
  const app = { name: "app", args: ["a"], env: [{ name: "A", value: "1" }], image: "i" };
  const patch = { name: "app", args: ["b", "c"], env: [{ name: "A", value: "2" }, { name: "B" }] };
  const merged = strategicMerge("PodTemplateSpec", { spec: { containers: [app] } }, { spec: { containers: [patch] } });
  expect(merged).toEqual({
    spec: {
      containers: [{ name: "app", args: ["b", "c"], env: [{ name: "A", value: "2" }, { name: "B" }], image: "i" }],
    },
  });
});

test.each([
  { patch: { metadata: { labels: { a: null } } }, labels: { b: "2" } },
  { patch: { metadata: { labels: { $patch: "replace", c: "3" } } }, labels: { c: "3" } },
  { patch: { metadata: { labels: { $patch: "delete" } } }, labels: {} },
  { patch: { metadata: { labels: { $retainKeys: ["a"], c: "3" } } }, labels: { a: "1", c: "3" } },
])("labels after the patch $patch.metadata.labels are $labels", ({ patch, labels }) => {
  const merged = strategicMerge("PodTemplateSpec", { metadata: { labels: { a: "1", b: "2" } } }, patch);
  expect(merged).toEqual({ metadata: { labels } });
});

test("directives delete an item, replace a list and order it", () => {
  const pod = { spec: { volumes: [{ name: "a" }, { name: "b" }, { name: "c" }] } };
  const volumes = (patch: object) => names(strategicMerge("PodTemplateSpec", pod, { spec: patch }), "volumes");
  expect(volumes({ volumes: [{ $patch: "delete", name: "b" }] })).toEqual(["a", "c"]);
  expect(volumes({ volumes: [{ $patch: "replace" }, { name: "x" }] })).toEqual(["x"]);
  expect(volumes({ volumes: [], "$setElementOrder/volumes": [{ name: "c" }, { name: "a" }] })).toEqual(["b", "c", "a"]);
});

test("an item without its merge key is refused with the list's name", () => {
  expect(() =>
    strategicMerge("PodTemplateSpec", { spec: { volumes: [] } }, { spec: { volumes: [{ emptyDir: {} }] } }),
  ).toThrow("an item of the list volumes has no name");
});
