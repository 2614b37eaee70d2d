import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  kubeNamespace,
  kubeNode,
  kubePod,
  kubeService,
  kubeSlice,
} from "../../../../test/support/discovery/kubernetes-objects.ts";
import { registryOf, removeObject, setObject } from "../../../../test/support/discovery/kubernetes-registry.ts";
import { serviceEntry, workloadEntry } from "../../../../test/support/discovery/objects.ts";
import type { KubernetesObject } from "../../../mesh-model/kubernetes-object.ts";
import type { RegistryChange, ServiceRegistry } from "../../../mesh-model/service-registry.ts";
import { createMemoryStore } from "../../stores/create-memory-store.ts";
import { createAggregateRegistry } from "../create-aggregate-registry.ts";
import { createServiceEntryRegistry } from "../create-service-entry-registry.ts";
import { createKubernetesRegistry } from "./create-kubernetes-registry.ts";

const REGION = "topology.kubernetes.io/region";
const web = [
  kubeService("web"),
  kubePod("web-0", "10.0.0.1"),
  kubeSlice("web", [{ address: "10.0.0.1", pod: "web-0" }]),
  kubeNode("n1", { [REGION]: "r1" }),
];

describe("order of arrival", () => {
  const conditions = fc.record({
    ready: fc.constantFrom(true, false, undefined),
    serving: fc.constantFrom(true, false, undefined),
    terminating: fc.constantFrom(true, false, undefined),
  });
  const objects = fc
    .record({
      conditions: fc.array(conditions, { minLength: 1, maxLength: 4 }),
      session: fc.boolean(),
      hasPod: fc.boolean(),
      region: fc.constantFrom("r1", "r2"),
    })
    .map(({ conditions: states, session, hasPod, region }): readonly KubernetesObject[] => [
      kubeService("web", {}, session ? { labels: { "istio.io/persistent-session": "s" } } : {}),
      kubeService("api", { clusterIP: "None" }),
      ...states.flatMap((given, at) => [
        ...(hasPod ? [kubePod(`web-${at}`, `10.0.0.${at}`)] : []),
        kubeSlice("web", [{ address: `10.0.0.${at}`, pod: `web-${at}`, conditions: given }], `web-${at}`),
      ]),
      kubeSlice("api", [{ address: "10.0.0.0" }]),
      kubeNode("n1", { [REGION]: region }),
      kubeNamespace("prod", {}, { "networking.istio.io/traffic-distribution": "PreferClose" }),
    ]);
  const shown = (registry: ServiceRegistry) =>
    registry.services().map((service) => ({ service, endpoints: registry.endpoints(service.key) }));

  test("the same objects make the same mesh in any order, at once or one by one, also after other ones that went", () => {
    fc.assert(
      fc.property(
        objects.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray([...all], { minLength: all.length }))),
        fc.boolean(),
        ([all, shuffled], isLate) => {
          const { registry: whole } = registryOf(all);
          const { registry } = registryOf(isLate ? [kubePod("old", "10.0.0.0"), kubeService("gone")] : []);
          for (const object of shuffled) {
            setObject(registry, object);
            registry.commit();
          }
          for (const object of [kubePod("old", "10.0.0.0"), kubeService("gone")]) removeObject(registry, object);
          registry.commit();
          expect(shown(registry)).toEqual(shown(whole));
        },
      ),
    );
  });
});

test.each([
  { conditions: undefined, health: "Healthy" },
  { conditions: { ready: true, terminating: true }, health: "Healthy" },
  { conditions: { ready: false, serving: false, terminating: false }, health: "UnHealthy" },
  { conditions: { ready: false, serving: true, terminating: true }, health: "Terminating", withSessions: "Draining" },
  { conditions: { ready: false }, health: "Terminating", withSessions: "Draining" },
  { conditions: { ready: false, serving: false, terminating: true }, health: "Terminating" },
])("an endpoint of conditions $conditions is $health", ({ conditions, health, withSessions = health }) => {
  const slice = kubeSlice("web", [{ address: "10.0.0.1", ...(conditions && { conditions }) }]);
  const labels = { labels: { "istio.io/persistent-session": "s" } };
  expect(registryOf([kubeService("web"), slice]).endpoints("web")[0]?.health).toBe(health);
  expect(registryOf([kubeService("web", {}, labels), slice]).endpoints("web")[0]?.health).toBe(withSessions);
});

test("an endpoint is who its pod is, where its node is", () => {
  expect(registryOf(web).endpoints("web")).toMatchObject([
    {
      addresses: ["10.0.0.1"],
      port: 8080,
      serviceAccount: "spiffe://td/ns/prod/sa/web",
      tlsMode: "istio",
      locality: { region: "r1", zone: "", subzone: "" },
      nodeName: "n1",
      clusterId: "c1",
    },
  ]);
});

test("an endpoint whose pod is not known waits for the pod, and a slice without pods has no one to wait for", () => {
  const [service, pod, slice] = web as [KubernetesObject, KubernetesObject, KubernetesObject];
  const { registry, endpoints, apply, remove } = registryOf([service, slice]);
  expect([endpoints("web"), registry.endpointsWithoutPod()]).toEqual([[], 1]);
  apply(pod);
  expect([endpoints("web").length, registry.endpointsWithoutPod()]).toEqual([1, 0]);
  remove(pod);
  expect(endpoints("web")).toEqual([]);
  apply(kubeSlice("web", [{ address: "10.0.0.9" }]));
  expect(endpoints("web")).toMatchObject([{ serviceAccount: "", tlsMode: "disabled" }]);
});

test("a change of one slice costs its own service alone", () => {
  const others = Array.from({ length: 20 }, (_, at) => [
    kubeService(`s${at}`),
    kubeSlice(`s${at}`, [{ address: `10.0.1.${at}` }]),
  ]).flat();
  const { registry, apply, key } = registryOf([...web, ...others]);
  const before = registry.services().map((service) => registry.endpoints(service.key));
  const seen: RegistryChange[] = [];
  registry.subscribe((change) => seen.push(change));
  apply(kubeSlice("s3", [{ address: "10.0.9.9" }]));
  expect(seen).toEqual([{ updated: [], deleted: [], endpoints: [key("s3")] }]);
  const after = registry.services().map((service) => registry.endpoints(service.key));
  expect(after.filter((endpoints, at) => endpoints !== before[at])).toHaveLength(1);
});

test("objects that say the same as before change nothing, and neither does a pod that is ready in other words", () => {
  const { registry, apply } = registryOf(web);
  const seen: RegistryChange[] = [];
  registry.subscribe((change) => seen.push(change));
  apply(...web);
  expect(seen).toEqual([]);
});

test("a node of another place moves the endpoints of its pods", () => {
  const { registry, apply, endpoints, key } = registryOf(web);
  const seen: RegistryChange[] = [];
  registry.subscribe((change) => seen.push(change));
  apply(kubeNode("n1", { [REGION]: "r2" }));
  expect(endpoints("web")[0]?.locality.region).toBe("r2");
  expect(seen).toEqual([{ updated: [], deleted: [], endpoints: [key("web")], workloads: true }]);
});

test("a namespace that no discovery selector takes is not there, until its labels change", () => {
  const { registry, apply } = registryOf([...web, kubeNamespace("prod")], {
    discoverySelectors: [{ matchLabels: { mesh: "on" } }, { matchExpressions: [{ key: "team", operator: "Exists" }] }],
  });
  expect([registry.services(), registry.isDiscovered("prod")]).toEqual([[], false]);
  apply(kubeNamespace("prod", { team: "a" }));
  expect(registry.services().map(({ name }) => name)).toEqual(["web"]);
  expect(registry.endpoints(registry.services()[0]?.key ?? "")).toHaveLength(1);
  registry.setDiscoverySelectors([{ matchLabels: { mesh: "on" } }]);
  expect(registry.services()).toEqual([]);
});

describe("what a proxy serves", () => {
  const proxy = { addresses: ["10.0.0.1"], namespace: "prod", id: "web-0.prod" };
  const at = (registry: ServiceRegistry, asked: Parameters<ServiceRegistry["targets"]>[0] = proxy) =>
    registry.targets(asked).map(({ service, port, targetPort }) => `${service.name} ${port.port} ${targetPort}`);

  test("are the target ports of the services that select its pod, without any slice", () => {
    const named = kubeService("named", {
      selector: { app: "web" },
      ports: [
        { name: "tcp", port: 90, targetPort: "admin" },
        { name: "tcp-b", port: 91, targetPort: "missing" },
      ],
    });
    const pod = kubePod("web-0", "10.0.0.1", {
      spec: { containers: [{ ports: [{ name: "admin", containerPort: 9090 }] }] },
    });
    const { registry } = registryOf([kubeService("web"), named, kubeService("other"), pod]);
    expect(at(registry)).toEqual(["named 90 9090", "web 80 8080"]);
    expect(at(registry, { ...proxy, id: "?", addresses: ["10.0.0.1"] })).toEqual(["named 90 9090", "web 80 8080"]);
    expect(at(registry, { ...proxy, clusterId: "other" })).toEqual([]);
    expect(registry.workload?.(proxy)?.labels).toMatchObject({ app: "web", "kubernetes.io/hostname": "n1" });
  });

  test("follow from what the proxy says of itself while its pod is not known", () => {
    const { registry } = registryOf([kubeService("web", { ports: [{ name: "http", port: 80, targetPort: "http" }] })]);
    const unknown = {
      ...proxy,
      labels: { app: "web" },
      metadata: { POD_PORTS: '[{"name":"http","containerPort":8088,"protocol":"TCP"}]' },
    };
    expect(at(registry, unknown)).toEqual(["web 80 8088"]);
    expect(at(registry, { ...unknown, metadata: { POD_PORTS: "{" } })).toEqual([]);
  });
});

test("a WorkloadEntry is an endpoint of the Services that select it, on the port that it says", () => {
  const { store, registry, endpoints } = registryOf(web);
  store.put(workloadEntry("vm", { address: "10.9.0.1", labels: { app: "web" }, ports: { http: 8181 }, weight: 3 }));
  expect(endpoints("web").map(({ addresses, port, weight }) => [addresses[0], port, weight])).toEqual([
    ["10.0.0.1", 8080, 0],
    ["10.9.0.1", 8181, 3],
  ]);
  expect(registry.targets({ addresses: ["10.9.0.1"], namespace: "prod" })).toMatchObject([{ targetPort: 8181 }]);
  store.delete({ kind: "WorkloadEntry", namespace: "prod", name: "vm" });
  expect(endpoints("web")).toHaveLength(1);
});

test("a ServiceEntry selects pods that are up, by the name of their port first", () => {
  const { store, registry, apply } = registryOf([]);
  const entries = createServiceEntryRegistry({
    store,
    trustDomain: "td",
    clusterId: "c1",
    workloads: [registry.workloads],
  });
  store.put(serviceEntry("picked", { endpoints: [], workloadSelector: { labels: { app: "web" } } }));
  const picked = () =>
    entries.endpoints(entries.services()[0]?.key ?? "").map(({ addresses, port }) => [addresses[0], port]);
  expect(picked()).toEqual([]);
  apply(
    kubePod("web-0", "10.0.0.1"),
    kubePod("web-1", "10.0.0.2", { spec: { containers: [{ ports: [{ name: "http", containerPort: 18080 }] }] } }),
    kubePod("web-2", "10.0.0.3", { status: { conditions: [{ type: "Ready", status: "False" }] } }),
  );
  expect(picked()).toEqual([
    ["10.0.0.1", 8080],
    ["10.0.0.2", 18080],
  ]);
});

test("a ServiceEntry with the host of a Service adds endpoints to it, and its changes are changes of the Service's", () => {
  const { store, registry, key } = registryOf(web);
  const entries = createServiceEntryRegistry({ store, trustDomain: "td", clusterId: "c1" });
  const aggregate = createAggregateRegistry([registry, entries]);
  const seen: RegistryChange[] = [];
  aggregate.subscribe((change) => seen.push(change));
  store.put(serviceEntry("more", { hosts: ["web.prod.svc.cluster.local"], endpoints: [{ address: "10.7.0.1" }] }));
  expect(seen[0]?.endpoints).toEqual([key("web")]);
});

test("another trust domain changes identities", () => {
  const { registry, endpoints } = registryOf(web);
  registry.setTrustDomain("other");
  expect(endpoints("web")[0]?.serviceAccount).toBe("spiffe://other/ns/prod/sa/web");
});

test("nothing is shown before the cluster was read as a whole", () => {
  const store = createMemoryStore();
  const options = { store, clusterId: "c1", trustDomain: "td", domainSuffix: "cluster.local" };
  const registry = createKubernetesRegistry(options);
  for (const object of web) setObject(registry, object);
  registry.commit();
  expect([registry.synced, registry.services()]).toEqual([false, []]);
  registry.markSynced();
  expect([registry.synced, registry.services().length]).toEqual([true, 1]);
  registry.close();
});
