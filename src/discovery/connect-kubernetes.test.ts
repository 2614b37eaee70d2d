import { expect, test } from "vitest";
import { kubeNamespace, kubePod, kubeService, kubeSlice } from "../../test/support/discovery/kubernetes-objects.ts";
import { workloadEntry } from "../../test/support/discovery/objects.ts";
import { createScriptedCluster } from "../../test/support/discovery/scripted-cluster.ts";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { until } from "../../test/support/wait/until.ts";
import { CloseStack } from "../base/close-stack.ts";
import { parseMeshSettings } from "../mesh-model/build-mesh-settings.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import type { RegistryChange } from "../mesh-model/service-registry.ts";
import { connectKubernetes } from "./connect-kubernetes.ts";
import type { MeshFile } from "./mesh-file.ts";

const definition = (kind: string, plural: string, versions: readonly { name: string; served: boolean }[]) => ({
  metadata: { name: `${plural}.networking.istio.io` },
  spec: { group: "networking.istio.io", names: { kind, plural }, versions },
});
const V1 = [
  { name: "v1alpha3", served: true },
  { name: "v1", served: true },
];
const OLD = [
  { name: "v1alpha3", served: true },
  { name: "v1", served: false },
];

async function setup(mesh = "") {
  const cluster = createScriptedCluster();
  const opened = new CloseStack();
  const { settings } = await parseMeshSettings(mesh);
  const listeners = new Set<(settings: MeshSettings) => void>();
  const meshFile = { settings, subscribe: (listener: (changed: MeshSettings) => void) => void listeners.add(listener) };
  const connected = connectKubernetes({
    source: cluster,
    mesh: meshFile as MeshFile,
    networks: { value: [], subscribe: () => undefined },
    onNetworks: () => undefined,
    clusterId: "c1",
    domainSuffix: "cluster.local",
    systemNamespace: "istio-system",
    log: recordLog(),
    signal: undefined,
    opened,
  });
  return {
    cluster,
    connected,
    opened,
    change: (next: MeshSettings) => {
      for (const listener of listeners) listener(next);
    },
  };
}

test("services and rules of a cluster are there when it has been read, not before", async () => {
  const { cluster, connected, opened } = await setup();
  cluster.hold(true);
  cluster.set("services", kubeService("web"));
  const connecting = connected.connect(connected.store);
  let isDone = false;
  void connecting.then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isDone).toBe(false);
  cluster.hold(false);
  const registry = await connecting;
  expect(registry.services().map(({ hostname }) => hostname)).toEqual(["web.prod.svc.cluster.local"]);
  await opened.close();
  expect(cluster.watched()).toEqual([]);
});

test("changes that arrive together are one change of the mesh", async () => {
  const { cluster, connected, opened } = await setup();
  const registry = await connected.connect(connected.store);
  const seen: RegistryChange[] = [];
  registry.subscribe((change) => seen.push(change));
  cluster.set("endpointslices", kubeSlice("web", [{ address: "10.0.0.1", pod: "web-0" }]));
  cluster.set("services", kubeService("web"));
  cluster.set("pods", kubePod("web-0", "10.0.0.1"));
  await until(() => expect(seen).toHaveLength(1));
  expect(seen[0]).toMatchObject({ updated: [registry.services()[0]?.key], endpoints: [] });
  expect(registry.endpoints(registry.services()[0]?.key ?? "")).toHaveLength(1);
  await opened.close();
});

test("a kind of rules is read while its definition is there, in the newest version that is served", async () => {
  const { cluster, connected, opened } = await setup();
  cluster.set("workloadentries", workloadEntry("vm"));
  await connected.connect(connected.store);
  const shown = () =>
    connected.store.snapshot.list("WorkloadEntry").map(({ name, apiVersion }) => `${name} ${apiVersion}`);
  expect(shown()).toEqual([]);
  cluster.set("customresourcedefinitions", definition("WorkloadEntry", "workloadentries", V1));
  await until(() => expect(shown()).toEqual(["vm networking.istio.io/v1"]));
  cluster.set("customresourcedefinitions", definition("WorkloadEntry", "workloadentries", OLD));
  await until(() => expect(cluster.watched()).toContain("workloadentries v1alpha3"));
  expect(cluster.watched()).not.toContain("workloadentries v1");
  cluster.remove("customresourcedefinitions", definition("WorkloadEntry", "workloadentries", OLD));
  await until(() => expect(shown()).toEqual([]));
  await opened.close();
  expect(cluster.watched()).toEqual([]);
});

test("rules of a namespace count while the mesh looks at it", async () => {
  const { cluster, connected, opened, change } = await setup("discoverySelectors: [{matchLabels: {mesh: looked-at}}]");
  cluster.set("customresourcedefinitions", definition("WorkloadEntry", "workloadentries", V1));
  cluster.set("workloadentries", workloadEntry("vm"));
  cluster.set("namespaces", kubeNamespace("prod"));
  await connected.connect(connected.store);
  expect(connected.store.snapshot.all()).toEqual([]);
  cluster.set("namespaces", kubeNamespace("prod", { mesh: "looked-at" }));
  await until(() => expect(connected.store.snapshot.all()).toHaveLength(1));
  cluster.set("namespaces", kubeNamespace("prod", {}));
  await until(() => expect(connected.store.snapshot.all()).toEqual([]));
  change((await parseMeshSettings("")).settings);
  expect(connected.store.snapshot.all()).toHaveLength(1);
  await opened.close();
});

test("an object that cannot be used is reported, and others count", async () => {
  const { cluster, connected, opened } = await setup();
  cluster.set("customresourcedefinitions", definition("WorkloadEntry", "workloadentries", V1));
  cluster.set("workloadentries", workloadEntry("good"));
  cluster.set("workloadentries", workloadEntry("bad", { weight: "many" }));
  await connected.connect(connected.store);
  expect(connected.store.snapshot.all().map(({ name }) => name)).toEqual(["good"]);
  expect(connected.store.snapshot.problems).toMatchObject([{ severity: "error", object: { name: "bad" } }]);
  await opened.close();
});

test("a start that is given up ends its watches", async () => {
  const cluster = createScriptedCluster();
  const { settings } = await parseMeshSettings("");
  const opened = new CloseStack();
  const ends = new AbortController();
  cluster.hold(true);
  const { store, connect } = connectKubernetes({
    source: cluster,
    mesh: { settings, subscribe: () => undefined } as unknown as MeshFile,
    networks: { value: [], subscribe: () => undefined },
    onNetworks: () => undefined,
    clusterId: "c1",
    domainSuffix: "cluster.local",
    systemNamespace: "istio-system",
    log: recordLog(),
    signal: ends.signal,
    opened,
  });
  const connecting = connect(store);
  ends.abort(new Error("enough"));
  await expect(connecting).rejects.toThrow("enough");
  await opened.close();
  expect(cluster.watched()).toEqual([]);
});
