import { expect, test } from "vitest";
import { OBJECT_SHAPES } from "../../src/discovery/registries/kubernetes/object-shapes.ts";
import { REDUCERS, type ReducedKinds } from "../../src/discovery/registries/kubernetes/reduce-object.ts";
import {
  type ApiObject,
  createKubernetesClient,
  findClusterAccess,
  type MessageShape,
  parseForeignKubeconfig,
} from "../../src/kubernetes/index.ts";
import { kubeNode, kubePod, kubeService, kubeSlice } from "../support/discovery/kubernetes-objects.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";

const manifests = (...objects: readonly object[]) => objects as readonly Manifest[];

const container = (name: string, port: string) => ({
  name,
  image: "none",
  env: [{ name: "A", value: '"]}' }],
  ports: [
    { name: port, containerPort: 8080 },
    { containerPort: 9090, protocol: "UDP", name: `${port}-udp` },
  ],
});
type Fields = Readonly<Record<string, unknown>>;
const service = (name: string, spec: Fields, metadata: Fields = {}) =>
  kubeService(name, { clusterIP: undefined, ...spec }, metadata);

const OBJECTS = manifests(
  {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: "prod",
      labels: { "istio-injection": "enabled" },
      annotations: { "networking.istio.io/traffic-distribution": "PreferClose" },
    },
  },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: "prod" } },
  kubeNode("n1", { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z" }, "192.0.2.1"),
  kubePod("web-0", "10.0.0.1", {
    metadata: {
      labels: { app: "web", "pod-template-hash": "5d8" },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d8", uid: "1", controller: true }],
    },
    spec: {
      hostname: "first",
      subdomain: "web",
      containers: [container("app", "http")],
      initContainers: [{ ...container("side", "grpc"), restartPolicy: "Always" }, container("once", "init")],
    },
    status: { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] },
  }),
  kubePod("web-1", "10.0.0.2", {
    spec: { containers: [container("app", "http")] },
    status: { conditions: [{ type: "Ready", status: "False" }] },
  }),
  kubePod("done", "10.0.0.3", { spec: { containers: [container("app", "http")] }, status: { phase: "Succeeded" } }),
  service(
    "web",
    {
      type: "LoadBalancer",
      externalIPs: ["192.0.2.9"],
      publishNotReadyAddresses: true,
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    },
    { annotations: { "networking.istio.io/exportTo": ".,other" } },
  ),
  service(
    "nodes",
    {
      type: "NodePort",
      ports: [
        { name: "tls", port: 15443, targetPort: "tls", nodePort: 31443, appProtocol: "https" },
        { name: "dns", port: 53, protocol: "UDP" },
      ],
    },
    { annotations: { "traffic.istio.io/nodeSelector": '{"a":"b"}' } },
  ),
  service("none", { clusterIP: "None", selector: undefined }),
  service("other", { type: "ExternalName", externalName: "a.example", ports: undefined }),
  kubeSlice("web", [
    { address: "10.0.0.1", pod: "web-0", conditions: { ready: true, serving: true, terminating: false } },
    { address: "10.0.0.2", pod: "web-1", conditions: { ready: false, serving: false, terminating: true } },
    { address: "10.0.0.9" },
  ]),
);

const place = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  await kubernetes.apply(OBJECTS);
  const balanced = { status: { loadBalancer: { ingress: [{ ip: "192.0.2.7" }, { hostname: "lb.example" }] } } };
  const patch = ["-n", "prod", "patch", "service", "web", "--subresource=status", "--type=merge", "-p"];
  await kubernetes.kubectl([...patch, JSON.stringify(balanced)]);
  const access = await findClusterAccess({ kubeconfig: kubernetes.kubeconfig, env: {} });
  return { kubernetes, client: opened.add(createKubernetesClient({ access, env: {} })) };
});

const PLURALS: { readonly [Of in keyof ReducedKinds]: readonly [group: string, plural: string] } = {
  Namespace: ["", "namespaces"],
  Node: ["", "nodes"],
  Pod: ["", "pods"],
  Service: ["", "services"],
  EndpointSlice: ["discovery.k8s.io", "endpointslices"],
};
const KINDS = Object.keys(PLURALS) as (keyof ReducedKinds)[];
const resourceOf = (kind: keyof ReducedKinds) => {
  const [group, plural] = PLURALS[kind];
  return { group, version: "v1", plural };
};

/** All objects of a kind as a watch streams them, in either form. */
async function streamed(kind: keyof ReducedKinds, shape: MessageShape | undefined): Promise<readonly ApiObject[]> {
  const ending = new AbortController();
  const options = { resourceVersion: "", timeoutSeconds: 60, sendsInitialEvents: true, shape, signal: ending.signal };
  const objects: ApiObject[] = [];
  for await (const event of await place().client.watch(resourceOf(kind), options)) {
    if (event.type === "BOOKMARK") break;
    if (event.type === "ADDED") objects.push(event.object);
  }
  ending.abort();
  return objects;
}

const reduced = (kind: keyof ReducedKinds, objects: readonly ApiObject[]) =>
  objects.map((object) => [object.metadata.name, object.metadata.resourceVersion, REDUCERS[kind](object)]);

test.each(KINDS)("a %s reads the same from its binary form as from JSON, in lists and in watches", async (kind) => {
  const { client } = place();
  const shape = OBJECT_SHAPES[kind];
  const expected = reduced(kind, await streamed(kind, undefined));
  expect(expected.length).toBeGreaterThan(0);
  const binary = await streamed(kind, shape);
  expect(reduced(kind, binary)).toEqual(expected);
  // Really binary: JSON would have brought this.
  expect(binary.every(({ metadata }) => metadata.uid === undefined)).toBe(true);
  const pages: ApiObject[] = [];
  let token: string | undefined;
  do {
    const page = await client.list(resourceOf(kind), { limit: 2, continueToken: token, shape });
    pages.push(...page.items);
    token = page.continueToken;
  } while (token !== undefined);
  expect(reduced(kind, pages)).toEqual(expected);
});

test("what the server refuses is named as with JSON", async () => {
  const { kubernetes } = place();
  const kubeconfig = kubernetes.kubeconfigFor({ token: await kubernetes.token({ namespace: "prod", account: "web" }) });
  const access = await parseForeignKubeconfig(kubeconfig, { source: "test", allowed: [] });
  await using client = createKubernetesClient({ access, env: {} });
  const asked = client.list(resourceOf("Pod"), { shape: OBJECT_SHAPES.Pod });
  await expect(asked).rejects.toMatchObject({
    code: "forbidden",
    message: expect.stringMatching(
      /cannot list pods: 403 Forbidden: pods is forbidden: User "system:serviceaccount:prod:web"/,
    ),
  });
});
