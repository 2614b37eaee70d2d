import { expect, test } from "vitest";
import { createTestMesh } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { CURRENT_PROXY_CONFIG_RULES } from "../../istio-api/proxy-config/proxy-config-rules.ts";
import { proxyConfigLayers } from "./proxy-config-objects.ts";

const object = (name: string, namespace: string, spec: TestObject["spec"], created = 1): TestObject => ({
  kind: "ProxyConfig",
  name,
  namespace,
  created,
  spec,
});
const variables = (value: string) => ({ environmentVariables: { FROM: value, [value]: "set" } });
const selecting = (app: string) => ({ selector: { matchLabels: { app } } });

function effective(...objects: readonly TestObject[]) {
  const { configs } = createTestMesh(documents(...objects)).take().snapshot;
  const base = { concurrency: 4, proxyMetadata: { BASE: "kept" } };
  const workload = { namespace: "prod", labels: { app: "web" } };
  const options = { rootNamespace: "istio-system", rules: CURRENT_PROXY_CONFIG_RULES };
  const layers = proxyConfigLayers(workload, configs.list("ProxyConfig"), options);
  return layers.own(layers.shared(base));
}

test("of the mesh, of the namespace and of the workload, each over the one before; what one is silent on stays", () => {
  const { concurrency, proxyMetadata } = effective(
    object("mesh", "istio-system", { ...variables("mesh"), concurrency: 1 }),
    object("namespace", "prod", variables("namespace")),
    object("workload", "prod", { ...variables("workload"), ...selecting("web") }),
  );
  expect(concurrency).toBe(1);
  expect(proxyMetadata).toEqual({ BASE: "kept", FROM: "workload", mesh: "set", namespace: "set", workload: "set" });
});

test.each([
  { of: "another namespace", one: object("o", "default", variables("o")) },
  { of: "workloads with other labels", one: object("o", "prod", { ...variables("o"), ...selecting("api") }) },
  {
    of: "workloads of the root namespace",
    one: object("o", "istio-system", { ...variables("o"), ...selecting("web") }),
  },
])("one of $of does not count", ({ one }) => {
  expect(effective(one)).toEqual({ concurrency: 4, proxyMetadata: { BASE: "kept" } });
});

test("of several of one rank the oldest counts", () => {
  const young = object("a", "prod", { concurrency: 1 }, 9);
  const old = object("b", "prod", { concurrency: 2, image: { imageType: "distroless" } }, 3);
  expect(effective(young, old)).toMatchObject({ concurrency: 2, image: { imageType: "distroless" } });
});
