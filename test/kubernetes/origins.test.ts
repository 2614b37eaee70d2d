import { expect, test } from "vitest";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { controlledObjects } from "../support/kubernetes/controlled-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const OBJECTS: readonly Manifest[] = [
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web" },
    spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas: 1,
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app", image: "none" }] } },
    },
  },
  {
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    metadata: { name: "web" },
    spec: { host: "web", trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } } },
  },
];

const place = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  await kubernetes.apply(ruleDefinitions(["DestinationRule"]));
  await kubernetes.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } }]);
  await kubernetes.apply(controlledObjects(OBJECTS, "prod"));
  const server = opened.add(
    await startDiscoveryServer({ kubernetes: { kubeconfig: kubernetes.kubeconfig, environment: {} } }),
  );
  return { kubernetes, server };
});

interface Origin {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly cluster?: string;
  readonly resourceVersion?: string;
}

interface Explained {
  readonly origins: readonly Origin[];
  readonly parts: readonly { readonly origins: readonly Origin[] }[];
}

const NODE = { id: "sidecar~192.0.2.1~x.prod~prod.svc.cluster.local", metadata: { NAMESPACE: "prod" } };
const WEB = "outbound|80||web.prod.svc.cluster.local";

/** Everything that the cluster and its endpoints come from. */
async function origins(): Promise<readonly Origin[]> {
  const query = `node=${encodeURIComponent(JSON.stringify(NODE))}&why=${encodeURIComponent(WEB)}`;
  const all = (await (await place().server.get(`/debug/explain?${query}`)).json()) as readonly Explained[];
  return all.flatMap((one) => [...one.origins, ...one.parts.flatMap((part) => part.origins)]);
}

async function stored({ kind, namespace, name }: Origin): Promise<string> {
  const words = ["get", kind, name, "-n", namespace, "-o", "jsonpath={.metadata.resourceVersion}"];
  return place().kubernetes.kubectl(words);
}

const isUpToDate = async () => {
  const found = await origins();
  const versions = await Promise.all(found.map(stored));
  return found.every(({ resourceVersion }, at) => resourceVersion === versions[at]);
};

test("what a cluster and its endpoints come from is said in the versions that the API server has", async () => {
  expect((await origins()).map(({ kind, name, cluster }) => `${kind} ${name} ${cluster}`)).toEqual([
    "Service web Kubernetes",
    "DestinationRule web Kubernetes",
    "Service web Kubernetes",
    expect.stringMatching(/^EndpointSlice web\S* Kubernetes$/),
    "Pod web-0 Kubernetes",
  ]);
  await until("the versions are those that are stored", isUpToDate);
});

test("a change that means nothing to the mesh is a version all the same", async () => {
  const before = await origins();
  for (const origin of new Map(before.map((one) => [one.kind, one])).values()) {
    const { kind, namespace, name } = origin;
    await place().kubernetes.kubectl(["annotate", kind, name, "-n", namespace, "note=changed"]);
  }
  await until("the versions are those that are stored", isUpToDate);
  const after = await origins();
  expect(after).toHaveLength(before.length);
  for (const [at, { resourceVersion }] of after.entries())
    expect(resourceVersion).not.toBe(before[at]?.resourceVersion);
});
