import { expect, test } from "vitest";
import { kubeService } from "../../../../test/support/discovery/kubernetes-objects.ts";
import { meshOfCase } from "../../../../test/support/mesh-model/view-of-case.ts";
import type { ResourceProblem } from "../../../envoy-config/index.ts";
import { createResourceSource } from "../../../envoy-config/index.ts";
import { snapshotOfObjects } from "../../snapshot-of-objects.ts";
import { explainPage } from "./explain.ts";

const NODE = { id: "sidecar~10.9.9.9~client.prod~prod.svc.cluster.local", metadata: { NAMESPACE: "prod" } };
const PROBLEM = { effect: "left-out", type: "CDS", resource: "web", reason: "it cannot be made" } as const;

function problemsOf(object: ResourceProblem["object"]): readonly string[] {
  const snapshot = snapshotOfObjects([kubeService("web")], meshOfCase(""));
  const problem = { ...PROBLEM, ...(object && { object }) };
  const context = {
    snapshot: () => snapshot,
    source: { ...createResourceSource({ onProblem: () => undefined }), problems: () => [problem] },
    connections: { all: () => [], find: () => undefined },
    locate: (origin: NonNullable<ResourceProblem["object"]>) =>
      origin.kind === "Service"
        ? ["east", "west"].map((cluster) => ({ ...origin, cluster, resourceVersion: "7" }))
        : [{ ...origin, file: "mesh.yaml", line: 12 }],
  };
  const { body } = explainPage(context, { query: new URLSearchParams({ node: JSON.stringify(NODE) }) });
  return (JSON.parse(String(body)) as { readonly problems: readonly string[] }).problems;
}

test.each([
  { object: undefined, says: "" },
  {
    object: { kind: "VirtualService", namespace: "prod", name: "web" },
    says: ", of VirtualService prod/web (mesh.yaml:12)",
  },
  {
    object: { kind: "Service", namespace: "prod", name: "web" },
    says: ", of Service prod/web (cluster east, version 7), Service prod/web (cluster west, version 7)",
  },
])("a problem names its object and where that is: $says", ({ object, says }) => {
  expect(problemsOf(object)).toEqual([`web: it cannot be made (left out)${says}`]);
});
