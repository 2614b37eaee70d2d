import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files of half a minute and more. In a fresh clone vitest knows no durations and would begin with the largest file. */
export const LONGEST: readonly string[] = [
  "e2e/mesh-start.slow",
  "e2e/mesh-outage.slow",
  "e2e/capture-matrix.slow",
  "e2e/mesh-rotation.slow",
  "integration/identity-mtls.slow",
  "integration/sds-envoy.slow",
  "e2e/discovery-budget.slow",
  "e2e/clean-clone.slow",
  "kubernetes/many-objects.slow",
  "envoy/start-envoy.slow",
  "e2e/agent-envoy.slow",
  "e2e/mesh-apply",
  "e2e/mesh.test",
  "e2e/mesh-faults",
  "e2e/image.test",
  "kubernetes/gateway-secrets",
  "kubernetes/histories",
  "e2e/launcher",
  "e2e/discovery-envoy.test",
  "kubernetes/control-plane-faults",
  "e2e/capture-faults",
  "kubernetes/credentials",
];

/** Starts the longest files first: one that starts last is waited for by idle workers. Any other order is vitest's own. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.findIndex((name) => moduleId.includes(`/${name}`));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
