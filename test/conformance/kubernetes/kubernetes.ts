import type { XdsNode } from "../../../src/mesh-model/proxy/parse-node.ts";
import { viewOfKubernetes } from "../../support/mesh-model/view-of-kubernetes.ts";
import { toCase } from "../discovery/discovery.ts";
import { type Answers, answersTo } from "../discovery/generate-answers.ts";
import { type GoldenCase, readGoldenCases } from "../discovery/golden-cases.ts";
import type { ConformanceFamily } from "../family.ts";

/** Answers of the control plane to one node in a mesh of Kubernetes objects, read from the case's file alone. */
export const kubernetes: ConformanceFamily = {
  name: "kubernetes",
  load: async (dir) => readGoldenCases(dir).map((golden) => toCase(golden, answersOf)),
};

function answersOf(golden: GoldenCase): Answers {
  const { configYaml, meshYaml, node } = golden;
  return answersTo(viewOfKubernetes(configYaml, meshYaml, node as XdsNode), golden);
}
