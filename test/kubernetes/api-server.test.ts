import { expect, test } from "vitest";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";

const cluster = sharedPlace(["kubernetes"], async (opened) => opened.add(await startKubernetes()));

const configMap = (name: string, data: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

const read = async (name: string) => cluster().api.ask({ path: `/api/v1/namespaces/default/configmaps/${name}` });

test("objects that were applied are read by kubectl, and deleted ones are gone", async () => {
  await cluster().apply([configMap("applied", { key: "value" })]);
  expect(await cluster().kubectl(["get", "configmap", "applied", "-o", "jsonpath={.data.key}"])).toBe("value");
  await cluster().delete(configMap("applied", {}));
  expect((await read("applied")).status).toBe(404);
});

test("an object of a kind whose definition comes before it is applied with its status", async () => {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "gauges.test.example" },
    spec: {
      group: "test.example",
      scope: "Namespaced",
      names: { plural: "gauges", singular: "gauge", kind: "Gauge" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: { status: {} },
        },
      ],
    },
  };
  const gauge = {
    apiVersion: "test.example/v1",
    kind: "Gauge",
    metadata: { name: "pressure" },
    spec: { unit: "bar" },
    status: { value: 3 },
  };
  await cluster().apply([definition, gauge]);
  const stored = await cluster().api.json({ path: "/apis/test.example/v1/namespaces/default/gauges/pressure" });
  expect(stored).toMatchObject({ spec: { unit: "bar" }, status: { value: 3 } });
});

test("a service account's token may do what RBAC grants and nothing else", async () => {
  const token = await cluster().token({ namespace: "default", account: "default" });
  const { status, body } = await cluster().api.ask({ path: "/api/v1/namespaces/default/configmaps", token });
  expect([status, JSON.parse(body).message]).toEqual([
    403,
    expect.stringContaining('cannot list resource "configmaps"'),
  ]);
});

test("after a restore of an older snapshot the later object is gone and the earlier one is back", async () => {
  await cluster().apply([configMap("earlier", {})]);
  const snapshot = await cluster().snapshot();
  await cluster().delete(configMap("earlier", {}));
  await cluster().apply([configMap("later", {})]);
  await cluster().restore(snapshot);
  expect([(await read("earlier")).status, (await read("later")).status]).toEqual([200, 404]);
});

test("an API server that was killed comes back with its objects, and etcd can be compacted", async () => {
  await cluster().apply([configMap("stays", {})]);
  await cluster().kill();
  await expect(read("stays")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await cluster().compact();
  await cluster().restart();
  expect((await read("stays")).status).toBe(200);
});
