import { existsSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { KINDS, type Kind } from "../../src/istio-api/kinds.ts";
import type { KubernetesObject } from "../../src/mesh-model/kubernetes-object.ts";
import type { XdsNode } from "../../src/mesh-model/proxy/parse-node.ts";
import { compareCase } from "../conformance/discovery/compare-case.ts";
import { answersTo } from "../conformance/discovery/generate-answers.ts";
import { type GoldenCase, readGoldenCases } from "../conformance/discovery/golden-cases.ts";
import { text } from "../conformance/discovery/json.ts";
import { goldenPath, needsGoldenData } from "../conformance/golden-data.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { pluralOf, ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { type Kubernetes, startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { nodeOfCase } from "../support/mesh-model/view-of-case.ts";
import { readKubernetesObjects, snapshotOfKubernetes } from "../support/mesh-model/view-of-kubernetes.ts";
import { has, needs } from "../support/needs.ts";
import { until } from "../support/wait/until.ts";

const dir = goldenPath("kubernetes");
const cases = existsSync(dir) ? readGoldenCases(dir) : [];
let kubernetes: Kubernetes | undefined;

beforeEach(needs("kubernetes"));
beforeAll(async () => {
  if (!has("kubernetes")) return;
  kubernetes = await startKubernetes({ serviceRange: "10.96.0.0/16,fd00:10:96::/112" });
  await kubernetes.apply(ruleDefinitions());
  const { api } = kubernetes;
  // A kind that was just defined has no store for a moment.
  for (const [root, plural] of READ) {
    await until(async () => expect((await api.ask({ path: `${root}/${plural}` })).status).toBe(200));
  }
});
afterAll(() => kubernetes?.stop());

/** Paths of everything that the mesh reads, and their kinds. */
const READ: readonly (readonly [string, string, string])[] = [
  ["/api/v1", "namespaces", "Namespace"],
  ["/api/v1", "nodes", "Node"],
  ["/api/v1", "services", "Service"],
  ["/api/v1", "pods", "Pod"],
  ["/apis/discovery.k8s.io/v1", "endpointslices", "EndpointSlice"],
  ...(Object.keys(KINDS) as Kind[]).map((kind) => {
    const { group, versions } = KINDS[kind];
    return [`/apis/${group}/${versions[0]}`, pluralOf(kind), kind] as const;
  }),
];

async function readAll({ api }: Kubernetes): Promise<readonly KubernetesObject[]> {
  const lists = READ.map(async ([root, plural, kind]) => {
    const { items } = await api.json({ path: `${root}/${plural}` });
    const apiVersion = root.replace(/^\/apis?\//, "");
    return (items as readonly KubernetesObject[]).map((item) => ({ ...item, apiVersion, kind }));
  });
  return (await Promise.all(lists)).flat();
}

/** What a case put into the cluster goes before the next; namespaces stay, which only a controller could end. */
async function removeObjects({ api }: Kubernetes, objects: readonly KubernetesObject[]): Promise<void> {
  for (const [root, plural, kind] of READ) {
    if (kind === "Namespace") continue;
    for (const object of objects) {
      const { name = "", namespace } = object.metadata ?? {};
      if (object.kind !== kind || name === "kubernetes") continue;
      const folder = namespace === undefined ? root : `${root}/namespaces/${namespace}`;
      const { status } = await api.ask({ method: "DELETE", path: `${folder}/${plural}/${name}?gracePeriodSeconds=0` });
      expect([200, 202, 404]).toContain(status);
    }
  }
}

/** The API server writes its own address over the one of the case. */
const isOwnSlice = ({ clusterName }: { readonly clusterName?: unknown }) =>
  clusterName === "outbound|443||kubernetes.default.svc.cluster.local";

async function differences(cluster: Kubernetes, golden: GoldenCase): Promise<readonly string[]> {
  const given = readKubernetesObjects(golden.configYaml).filter(({ metadata }) => metadata?.name !== "kubernetes");
  const ownSlices = given.filter(({ metadata }) => !text(metadata?.name).startsWith("kubernetes-"));
  await cluster.apply(ownSlices as unknown as readonly Manifest[]);
  try {
    const objects = await readAll(cluster);
    const view = snapshotOfKubernetes(objects, golden.meshYaml).view(nodeOfCase(golden.node as XdsNode));
    const answers = answersTo(view, golden);
    const compared = {
      golden: { ...golden, endpoints: golden.endpoints.filter((entry) => !isOwnSlice(entry)) },
      ours: { ...answers, endpoints: answers.endpoints.filter((entry) => !isOwnSlice(entry)) },
    };
    return compareCase(compared.golden, compared.ours).map((difference) => JSON.stringify(difference));
  } finally {
    await removeObjects(cluster, await readAll(cluster));
  }
}

describe("a case put into a real API server gives the same answers as its file", () => {
  test("golden data is present", (context) => {
    needsGoldenData(context, dir);
    expect(cases.length).toBeGreaterThan(0);
  });
  for (const golden of cases) {
    test(golden.name, async () => {
      if (kubernetes === undefined) throw new Error("no API server");
      expect(await differences(kubernetes, golden)).toEqual([]);
    });
  }
});
