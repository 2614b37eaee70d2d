import { expect, test } from "vitest";
import { describeDocumentProblem, parseConfigText } from "../../../src/istio-api/decode/parse-config-text.ts";
import { defaultMeshConfig } from "../../../src/istio-api/mesh-config/mesh-config.ts";
import { parseMeshConfig } from "../../../src/istio-api/mesh-config/parse-mesh-config.ts";
import { generationRules } from "../../../src/settings/generations.ts";
import { parseServiceNode } from "../../../src/xds/service-node.ts";
import { discoveryCases, goldenPath, needsGoldenData } from "../golden-data.ts";

const cases = discoveryCases();
const rules = generationRules("master");

test("there are golden cases to read", (context) => {
  needsGoldenData(context, goldenPath("discovery"));
  expect(cases.length).toBeGreaterThan(30);
});

for (const { name, configYaml, meshYaml, node } of cases) {
  test(`${name}: every object is decoded without an error`, async () => {
    const { objects, problems } = parseConfigText(configYaml, { file: name });
    expect(problems.filter(({ severity }) => severity === "error").map(describeDocumentProblem)).toEqual([]);
    expect(problems.filter(({ message }) => message.includes("unknown field"))).toEqual([]);
    expect(objects).toHaveLength(configYaml.match(/^kind: /gm)?.length ?? 0);
    if (meshYaml !== undefined) {
      expect(await parseMeshConfig(meshYaml, defaultMeshConfig(rules), name, rules)).toBeDefined();
    }
    const { id, metadata } = node as { id: string; metadata: { NAMESPACE: string } };
    expect(parseServiceNode(id, metadata).configNamespace).toBe(metadata.NAMESPACE);
  });
}
