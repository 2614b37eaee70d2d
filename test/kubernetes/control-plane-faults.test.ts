import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { startLease } from "../../src/discovery/cluster/start-lease.ts";
import { readKubeconfig } from "../../src/kubernetes/access/read-kubeconfig.ts";
import { createKubernetesClient } from "../../src/kubernetes/client.ts";
import { kubePod, kubeService, kubeSlice } from "../support/discovery/kubernetes-objects.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { recordLog } from "../support/log/recording-log.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const cluster = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const namespaces = ["istio-system", "prod"].map((name) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name },
  }));
  await kubernetes.apply(namespaces as Manifest[]);
  const account = (name: string, namespace: string) => ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace },
  });
  await kubernetes.apply([account("istiod", "istio-system"), account("web", "prod")] as Manifest[]);
  await kubernetes.apply(web("10.0.0.1") as Manifest[]);
  return kubernetes;
});

function web(address: string): readonly object[] {
  const { spec, ...service } = kubeService("web");
  return [
    { ...service, spec: { ...(spec as object), clusterIP: undefined } },
    kubePod("web-0", address, { spec: { containers: [{ name: "app", image: "none" }] } }),
    kubeSlice("web", [{ address, pod: "web-0" }]),
  ];
}

/** Everything that the control plane reads and writes, but for these. */
function rightsWithout(...resources: readonly string[]): Manifest {
  const rule = (apiGroups: readonly string[], all: readonly string[]) => ({
    apiGroups,
    resources: all.filter((each) => !resources.includes(each)),
    verbs: ["*"],
  });
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "istiod" },
    rules: [
      rule([""], ["namespaces", "nodes", "pods", "services", "configmaps", "secrets"]),
      rule(["discovery.k8s.io"], ["endpointslices"]),
      rule(["coordination.k8s.io"], ["leases"]),
      rule(["apiextensions.k8s.io"], ["customresourcedefinitions"]),
    ],
  };
}
const BINDING = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "istiod" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "istiod" },
  subjects: [{ kind: "ServiceAccount", name: "istiod", namespace: "istio-system" }],
};

const addressesOf = ({ discovery: { snapshot } }: DiscoveryServer, host: string) =>
  snapshot.services
    .filter(({ hostname }) => hostname === host)
    .flatMap(({ key }) => snapshot.endpoints(key).map(({ addresses }) => addresses[0]));
const readiness = async (server: DiscoveryServer) => (await (await server.get("/ready")).text()).trim();

test("a start without the right to one kind serves the rest, names verb and resource, and reads the kind when it may", async () => {
  await cluster().apply([rightsWithout("nodes"), BINDING] as Manifest[]);
  const token = await cluster().token({ namespace: "istio-system", account: "istiod" });
  const kubeconfig = join(cluster().folder, "istiod.kubeconfig");
  writeFileSync(kubeconfig, cluster().kubeconfigFor({ token }));
  await using server = await startDiscoveryServer({ kubernetes: { kubeconfig, environment: {} } });
  expect(addressesOf(server, "web.prod.svc.cluster.local")).toEqual(["10.0.0.1"]);
  const says = /nodes: cannot (list|watch) nodes: 403 Forbidden: .*cannot (list|watch) resource "nodes"/;
  expect(await readiness(server)).toMatch(new RegExp(`^ready\ncluster Kubernetes: ${says.source}`));
  expect(server.log.text()).toMatch(/error objects are not read: .*cannot (list|watch) nodes: 403 Forbidden/);
  const shown = (await (await server.get("/debug/freshness")).json()) as [
    { kinds: { kind: string; synced: boolean }[] },
  ];
  expect(shown[0].kinds.filter(({ synced }) => !synced).map(({ kind }) => kind)).toEqual(["nodes"]);
  await cluster().apply([rightsWithout()] as Manifest[]);
  await until(async () => expect(await readiness(server)).toBe("ready"), 60_000);
});

test("a namespace that is deleted while its objects are read ends in a mesh without it", async () => {
  const names = Array.from({ length: 60 }, (_, at) => `doomed-${at}`);
  const metadata = { name: "doomed" };
  await cluster().apply([{ apiVersion: "v1", kind: "Namespace", metadata }] as Manifest[]);
  const services = names.map((name) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "doomed" },
    spec: { ports: [{ name: "http", port: 80 }] },
  }));
  await cluster().apply(services as Manifest[]);
  const starting = startDiscoveryServer({ kubernetes: { kubeconfig: cluster().kubeconfig, environment: {} } });
  await cluster().api.json({ method: "DELETE", path: "/api/v1/namespaces/doomed" });
  for (const { metadata: of } of services)
    await cluster().api.json({ method: "DELETE", path: `/api/v1/namespaces/doomed/services/${of.name}` });
  // What the namespace controller does when nothing is left.
  const finalized = { apiVersion: "v1", kind: "Namespace", metadata, spec: { finalizers: [] } };
  await cluster().api.json({ method: "PUT", path: "/api/v1/namespaces/doomed/finalize", body: finalized });
  await using server = await starting;
  const left = () => server.discovery.snapshot.services.filter(({ namespace }) => namespace === "doomed");
  await until(() => expect(left()).toEqual([]));
  expect(addressesOf(server, "web.prod.svc.cluster.local")).toEqual(["10.0.0.1"]);
  expect(await readiness(server)).toBe("ready");
});

test("a lease of a holder whose clock is an hour ahead is taken over when it is not renewed", async () => {
  await using opened = new CloseStack();
  const access = await readKubeconfig({ paths: [cluster().kubeconfig] });
  const api = opened.add(createKubernetesClient({ access, env: {} }));
  const ahead = new Date(Date.now() + 3_600_000).toISOString().replace("Z", "000Z");
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "skewed", namespace: "istio-system" },
    spec: { holderIdentity: "gone", leaseDurationSeconds: 2, renewTime: ahead, acquireTime: ahead },
  };
  await cluster().apply([lease] as Manifest[]);
  const own = opened.add(
    startLease({
      api,
      namespace: "istio-system",
      name: "skewed",
      identity: "here",
      durationMs: 3000,
      log: recordLog(),
      onChange: () => undefined,
    }),
  );
  await until("the lease is ours", () => own.isLeader);
});

test("a control plane follows a server that is restored from an older snapshot, and says how old it is meanwhile", async () => {
  await using server = await startDiscoveryServer({
    kubernetes: { kubeconfig: cluster().kubeconfig, environment: {} },
  });
  const addresses = () => addressesOf(server, "web.prod.svc.cluster.local");
  await until(() => expect(addresses()).toEqual(["10.0.0.1"]));
  const snapshot = await cluster().snapshot();
  await cluster().apply(web("10.0.0.9") as Manifest[]);
  await until(() => expect(addresses()).toEqual(["10.0.0.9"]));
  await cluster().restore(snapshot);
  await until(() => expect(addresses()).toEqual(["10.0.0.1"]), 90_000);
  await until(async () => expect(await readiness(server)).toBe("ready"), 90_000);
});
