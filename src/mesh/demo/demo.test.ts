import { expect, test } from "vitest";
import { parseMeshFile } from "../core/parse-mesh-file.ts";
import { DEMO_APPS, runDemoApp } from "./demo-app.ts";
import { pick } from "./proxyless-apps.ts";
import { proxylessShopFile, shopFile } from "./shop-file.ts";
import { catalogueOf } from "./shop-services.ts";

test.each([
  { title: "with sidecars", text: shopFile() },
  { title: "without Envoy", text: proxylessShopFile() },
])("the shop $title is a valid mesh file whose applications exist", ({ text }) => {
  const parsed = parseMeshFile(text);
  if ("problems" in parsed) throw new Error(JSON.stringify(parsed.problems));
  const used = [...text.matchAll(/demo-app ([\w-]+)/g)].map(([, name]) => name);
  expect(used.length).toBeGreaterThan(3);
  expect(used.filter((name) => !DEMO_APPS.includes(name ?? ""))).toEqual([]);
});

test("the error for an unknown application names those that exist", () => {
  const nothing = { env: {}, signal: AbortSignal.abort(), print: () => undefined };
  expect(() => runDemoApp("till", nothing)).toThrow("there is no demo application till; there are front, catalogue");
});

test.each([
  { random: 0, weight: 80 },
  { random: 0.799, weight: 80 },
  { random: 0.801, weight: 20 },
  { random: 0.999, weight: 20 },
])("$random of 80 and 20 picks the cluster of weight $weight", ({ random, weight }) => {
  const cluster = (of: number) => ({ weight: of, endpoints: [], peerNames: undefined });
  expect(pick({ clusters: [cluster(80), cluster(20)] }, random)?.weight).toBe(weight);
  expect(pick(undefined, random)).toBeUndefined();
});

test("versions differ in their products", () => {
  expect(new Set(["v1", "v2", "v3"].map((version) => JSON.stringify(catalogueOf(version).products))).size).toBe(3);
});
