import { expect, test } from "vitest";
import { fixedObstacle } from "./fixed-obstacle.ts";
import { planMesh } from "./plan-mesh.ts";

const file = {
  name: "shop",
  namespace: "a",
  mtls: "strict",
  egress: "allowed",
  services: [],
  config: [],
  configDir: undefined,
  notices: [],
} as const;
const plan = planMesh(file, { isolation: "namespaces", slot: 1, ports: [] });
const fileName = "mesh.yaml";

test.each([
  { what: "the same", asked: {} },
  { what: "the isolation that runs", asked: { isolation: "namespaces" } },
])("$what can be applied", ({ asked }) => {
  expect(fixedObstacle(plan, file, { fileName, ...asked })).toBeUndefined();
});

test("another namespace is refused with the commands that lead there", () => {
  expect(fixedObstacle(plan, { ...file, namespace: "b" }, { fileName })).toBe(
    "mesh.yaml: namespace is b, the mesh runs in a; do pilot-agent mesh down --name shop, then pilot-agent mesh up -f mesh.yaml",
  );
});

test("another egress is refused with the commands that lead there", () => {
  expect(fixedObstacle(plan, { ...file, egress: "none" }, { fileName })).toBe(
    "mesh.yaml: egress is none, the mesh runs with allowed; do pilot-agent mesh down --name shop, then pilot-agent mesh up -f mesh.yaml",
  );
});

test("another isolation is refused with the commands that lead there", () => {
  expect(fixedObstacle(plan, file, { fileName, isolation: "none" })).toBe(
    "isolation none is asked for, the mesh runs with namespaces; do pilot-agent mesh down --name shop, " +
      "then pilot-agent mesh up -f mesh.yaml --isolation none",
  );
});

test("a mesh without Envoy is refused, and where Envoy is looked for is said", () => {
  expect(fixedObstacle({ ...plan, proxyless: true }, file, { fileName })).toBe(
    "the mesh runs without Envoy, and so does not change while it runs; where Envoy can be had (pilot-agent envoy path), " +
      "do pilot-agent mesh down --name shop, then pilot-agent mesh up -f mesh.yaml",
  );
});
