import { expect, test } from "vitest";
import { BELOW_SQUARE, growthFactor } from "../../test/support/growth-factor.ts";
import { meshOfCase, nodeOfCase } from "../../test/support/mesh-model/view-of-case.ts";
import { snapshotOfObjects } from "../discovery/snapshot-of-objects.ts";
import { originsOf } from "./origins-of.ts";
import { type ExplainedType, resourcesOf } from "./resources-of.ts";
import { explainWhy } from "./why.ts";

const NODE = { id: "sidecar~192.0.2.1~nobody.nowhere~nowhere.svc.cluster.local", metadata: { NAMESPACE: "nowhere" } };
const hostOf = (index: number) => `svc-${index}.ns-${index % 50}.svc.cluster.local`;

function services(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: `svc-${index}`, namespace: `ns-${index % 50}` },
    spec: {
      hosts: [hostOf(index)],
      addresses: [`10.96.${index >> 8}.${index & 255}`],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      endpoints: [{ address: `10.20.${index >> 8}.${index & 255}`, serviceAccount: `svc-${index}` }],
    },
  }));
}

function explain(count: number) {
  const view = snapshotOfObjects(services(count), meshOfCase(undefined)).view(nodeOfCase(NODE));
  const { resources } = resourcesOf(view);
  return { resources, why: explainWhy(resources, `outbound|80||${hostOf(0)}`, originsOf(view)) };
}

test("a mesh of 5,000 services is explained whole", () => {
  const { resources, why } = explain(5000);
  expect(resources.filter(({ type }) => type === "eds")).toHaveLength(5000);
  expect(why).toHaveLength(2);
});

test("the cost of an explanation grows with the number of services, not with its square", () => {
  expect(growthFactor((count) => void explain(count), 250)).toBeLessThan(BELOW_SQUARE);
});

test("only what is asked for is made", () => {
  const view = snapshotOfObjects(services(3), meshOfCase(undefined)).view(nodeOfCase(NODE));
  const types = (...wanted: readonly ExplainedType[]) => [
    ...new Set(resourcesOf(view, wanted).resources.map(({ type }) => type)),
  ];
  expect(types("eds")).toEqual(["eds"]);
  expect(types("nds", "rds")).toEqual(["rds", "nds"]);
  const wanted = `outbound|80||${hostOf(1)}`;
  const endpoints = resourcesOf(view, ["eds"], undefined, (name) => name === wanted).resources;
  expect(endpoints.map(({ name }) => name)).toEqual([wanted]);
});
