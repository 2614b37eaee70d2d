import { expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, service, type TestObject } from "../../../../test/support/mesh-model/test-objects.ts";
import { namesOf, refusedObjects } from "./refused-objects.ts";

const patch = (name: string, applyTo: string, labels: object = {}): TestObject => ({
  kind: "EnvoyFilter",
  name,
  spec: {
    ...(Object.keys(labels).length > 0 && { workloadSelector: { labels } }),
    configPatches: [{ applyTo, patch: { operation: "INSERT_FIRST", value: { name: `filter-${name}` } } }],
  },
});
const view = createTestMesh(
  documents(
    service({ name: "web" }),
    patch("script", "HTTP_FILTER"),
    patch("other", "NETWORK_FILTER"),
    patch("elsewhere", "HTTP_FILTER", { app: "other" }),
    patch("pool", "CLUSTER"),
    { kind: "WasmPlugin", name: "crash", spec: { url: "a/b" } },
    { kind: "DestinationRule", name: "web", spec: { host: "web", trafficPolicy: { tls: { mode: "DISABLE" } } } },
  ),
)
  .take()
  .snapshot.view(testNode());

test.each([
  { message: "duplicate address", type: "LDS", names: ["EnvoyFilter default/other", "EnvoyFilter default/script"] },
  { message: "script load error in filter-script", type: "LDS", names: ["EnvoyFilter default/script"] },
  { message: "no such thing", type: "RDS", names: [] },
  {
    message: "outbound|80||web.default.svc.cluster.local: bad pool",
    type: "CDS",
    names: ["EnvoyFilter default/pool", "DestinationRule default/web"],
  },
  { message: "extensions.istio.io/wasmplugin/default.crash: no", type: "ECDS", names: ["WasmPlugin default/crash"] },
] as const)("'$message' about $type may come from $names", ({ message, type, names }) => {
  expect([...namesOf(refusedObjects(view, type, message))].sort()).toEqual([...names].sort());
});
