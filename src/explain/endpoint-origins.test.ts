import { describe, expect, test } from "vitest";
import { kubeNode, kubePod, kubeService, kubeSlice } from "../../test/support/discovery/kubernetes-objects.ts";
import { registryOf } from "../../test/support/discovery/kubernetes-registry.ts";
import { serviceEntry, workloadEntry } from "../../test/support/discovery/objects.ts";
import { meshOfCase, nodeOfCase } from "../../test/support/mesh-model/view-of-case.ts";
import { snapshotOfObjects } from "../discovery/snapshot-of-objects.ts";
import { createPushSnapshot } from "../mesh-model/create-push-snapshot.ts";
import type { KubernetesObject } from "../mesh-model/kubernetes-object.ts";
import { buildNetworks } from "../mesh-model/networks.ts";
import type { PushSnapshot } from "../mesh-model/push-snapshot.ts";
import type { Origin } from "../simulate/index.ts";
import { originsOf } from "./origins-of.ts";
import { refineOrigins } from "./refine-origins.ts";
import { resourcesOf } from "./resources-of.ts";
import { explainAll, explainWhy } from "./why.ts";

const NODE = { id: "sidecar~10.9.9.9~client.prod~prod.svc.cluster.local", metadata: { NAMESPACE: "prod" } };
const WEB = "outbound|80||web.prod.svc.cluster.local";

/** What `--why` says of endpoints, one line each: `10.0.0.1:8080 <- Pod prod/web-0, ...`. */
function endpoints(snapshot: PushSnapshot, cluster: string, metadata = {}): readonly string[] {
  const view = snapshot.view(nodeOfCase({ ...NODE, metadata: { ...NODE.metadata, ...metadata } }));
  const { resources } = resourcesOf(view, ["cds", "eds"]);
  const found = refineOrigins(view, explainWhy(resources, cluster, originsOf(view)), { resources });
  return found.flatMap(({ parts }) =>
    parts.map(({ kind, name, origins }) => {
      expect(kind).toBe("endpoint");
      return `${name} <- ${origins.map(lineOf).join(", ")}`;
    }),
  );
}

function lineOf({ kind, namespace, name, path, overruledBy }: Origin): string {
  const part = path === undefined ? "" : ` ${path.join(".")}`;
  return `${kind} ${namespace}/${name}${part}${overruledBy === undefined ? "" : ` < ${overruledBy}`}`;
}

const meshOf = (...objects: readonly KubernetesObject[]) => snapshotOfObjects(objects, meshOfCase(""));
const NOWHERE = { spec: { nodeName: "" } };

describe("endpoints of a Service come from", () => {
  test("its EndpointSlices and the pods behind them, and the node that says where the pod is", () => {
    const mesh = meshOf(
      kubeService("web"),
      kubeNode("n1", { "topology.kubernetes.io/region": "r1" }),
      kubePod("web-0", "10.0.0.1"),
      kubePod("web-1", "10.0.0.2", NOWHERE),
      kubePod("web-2", "10.0.0.3", { metadata: { labels: { app: "web", "istio-locality": "r2" } } }),
      kubeSlice("web", [
        { address: "10.0.0.1", pod: "web-0" },
        { address: "10.0.0.2", pod: "web-1" },
        { address: "10.0.0.3", pod: "web-2" },
        { address: "10.0.0.4" },
      ]),
    );
    expect(endpoints(mesh, WEB).toSorted()).toEqual([
      "10.0.0.1:8080 <- EndpointSlice prod/web-1, Pod prod/web-0, Node /n1",
      "10.0.0.2:8080 <- EndpointSlice prod/web-1, Pod prod/web-1",
      "10.0.0.3:8080 <- EndpointSlice prod/web-1, Pod prod/web-2",
      "10.0.0.4:8080 <- EndpointSlice prod/web-1",
    ]);
  });

  test("the slice that counts of two that have the same address, which overrules the other", () => {
    const at = [{ address: "10.0.0.1", pod: "web-0" }];
    const mesh = meshOf(
      kubeService("web"),
      kubePod("web-0", "10.0.0.1", NOWHERE),
      kubeSlice("web", [{ ...at[0], address: "10.0.0.1", conditions: { ready: false } }], "a"),
      kubeSlice("web", at, "b"),
    );
    expect(endpoints(mesh, WEB)).toEqual([
      "10.0.0.1:8080 <- EndpointSlice prod/b, Pod prod/web-0, EndpointSlice prod/a < EndpointSlice prod/b",
    ]);
  });

  test("WorkloadEntries that it selects, and the group of one that registered itself", () => {
    const labels = { app: "web" };
    const group = { annotations: { "istio.io/autoRegistrationGroup": "vms" } };
    const registered = workloadEntry("vms-10.0.0.2", { address: "10.0.0.2", labels });
    const mesh = meshOf(
      kubeService("web"),
      workloadEntry("vm", { address: "10.0.0.1", labels }),
      { ...registered, metadata: { ...(registered.metadata as object), ...group } },
      workloadEntry("other", { address: "10.0.0.3", labels: { app: "other" } }),
    );
    expect(endpoints(mesh, WEB)).toEqual([
      "10.0.0.1:8080 <- WorkloadEntry prod/vm",
      "10.0.0.2:8080 <- WorkloadEntry prod/vms-10.0.0.2, WorkloadGroup prod/vms",
    ]);
  });

  test("those of its subset alone", () => {
    const pod = (name: string, ip: string, version: string) =>
      kubePod(name, ip, { ...NOWHERE, metadata: { labels: { app: "web", version } } });
    const rule = {
      apiVersion: "networking.istio.io/v1",
      kind: "DestinationRule",
      metadata: { name: "web", namespace: "prod" },
      spec: { host: "web", subsets: [{ name: "v2", labels: { version: "v2" } }] },
    };
    const slice = kubeSlice("web", [
      { address: "10.0.0.1", pod: "web-0" },
      { address: "10.0.0.2", pod: "web-1" },
    ]);
    const mesh = meshOf(
      kubeService("web"),
      pod("web-0", "10.0.0.1", "v1"),
      pod("web-1", "10.0.0.2", "v2"),
      slice,
      rule,
    );
    expect(endpoints(mesh, WEB.replace("||", "|v2|"))).toEqual([
      "10.0.0.2:8080 <- EndpointSlice prod/web-1, Pod prod/web-1",
    ]);
  });
});

describe("endpoints of a ServiceEntry come from", () => {
  const cluster = "outbound|80||db.example";

  test("its own list, of which they are a part", () => {
    const own = [{ address: "10.0.0.1" }, { address: "fd00::2" }, { address: "unix:///run/db.sock" }];
    expect(endpoints(meshOf(serviceEntry("db", { endpoints: own })), cluster).toSorted()).toEqual([
      "/run/db.sock <- ServiceEntry prod/db spec.endpoints.2",
      "10.0.0.1:8080 <- ServiceEntry prod/db spec.endpoints.0",
      "[fd00::2]:8080 <- ServiceEntry prod/db spec.endpoints.1",
    ]);
  });

  test("pods and WorkloadEntries that it selects", () => {
    const mesh = meshOf(
      serviceEntry("db", { endpoints: [], workloadSelector: { labels: { app: "web" } } }),
      kubePod("web-0", "10.0.0.1", NOWHERE),
      workloadEntry("vm", { address: "10.0.0.2", labels: { app: "web" } }),
    );
    expect(endpoints(mesh, cluster).toSorted()).toEqual([
      "10.0.0.1:8080 <- Pod prod/web-0",
      "10.0.0.2:8080 <- WorkloadEntry prod/vm",
    ]);
  });

  test("the entry itself, where its name is looked up by the proxy", () => {
    const mesh = meshOf(serviceEntry("db", { endpoints: [], resolution: "DNS" }));
    expect(endpoints(mesh, cluster)).toEqual(["db.example:8080 <- ServiceEntry prod/db"]);
  });

  test("all objects that describe one host", () => {
    const mesh = meshOf(
      serviceEntry("a", { hosts: ["db.example"], endpoints: [{ address: "10.0.0.1" }] }),
      serviceEntry("b", { hosts: ["db.example"], endpoints: [{ address: "10.0.0.2" }] }),
    );
    expect(endpoints(mesh, cluster)).toEqual([
      "10.0.0.1:8080 <- ServiceEntry prod/a spec.endpoints.0",
      "10.0.0.2:8080 <- ServiceEntry prod/b spec.endpoints.0",
    ]);
  });
});

test("a pod of a headless Service has a listener and a name of its own, which come from it", () => {
  const mesh = meshOf(
    kubeService("web", { clusterIP: "None", ports: [{ name: "tcp", port: 8080, targetPort: 8080 }] }),
    kubeService("other", { ports: [{ name: "tcp", port: 8080, targetPort: 8080 }] }),
    ...["web-0", "web-1"].map((name, at) =>
      kubePod(name, `10.0.0.${at + 1}`, { spec: { nodeName: "", subdomain: "web", hostname: name } }),
    ),
    {
      ...kubeSlice("web", [
        { address: "10.0.0.1", pod: "web-0" },
        { address: "10.0.0.2", pod: "web-1" },
      ]),
      ports: [{ name: "tcp", port: 8080 }],
    } as KubernetesObject,
  );
  const metadata = { ...NODE.metadata, DNS_CAPTURE: "true", CLUSTER_ID: "Kubernetes" };
  const view = mesh.view(nodeOfCase({ ...NODE, metadata }));
  const { resources } = resourcesOf(view, ["lds", "nds"]);
  const why = (name: string) => explainWhy(resources, name, originsOf(view));
  const own = ["Service prod/web", "EndpointSlice prod/web-1", "Pod prod/web-1"];
  expect(why("10.0.0.2_8080")[0]?.origins.map(lineOf)).toEqual(own);
  expect(why("web-1.web.prod.svc.cluster.local")[0]?.parts[0]?.origins.map(lineOf)).toEqual(own);
  expect(why("web.prod.svc.cluster.local")[0]?.parts[0]?.origins.map(lineOf)).toEqual(own.slice(0, 1));
});

test("a gateway to another network comes from its Service, and the lists of what is behind it", () => {
  const { registry, store } = registryOf([
    kubeService("web"),
    kubeService("east", { type: "LoadBalancer", externalIPs: ["192.0.2.7"] }),
    kubePod("web-0", "10.0.0.1", {
      ...NOWHERE,
      metadata: { labels: { app: "web", "security.istio.io/tlsMode": "istio", "topology.istio.io/network": "far" } },
    }),
    kubeSlice("web", [{ address: "10.0.0.1", pod: "web-0" }]),
  ]);
  const networks = buildNetworks([{ network: "far", clusterId: "c1", address: "192.0.2.7", port: 15443 }]);
  const mesh = createPushSnapshot({ mesh: meshOfCase(""), configs: store.snapshot, registry, networks, version: "1" });
  expect(endpoints(mesh, WEB, { NETWORK: "near" })).toEqual([
    "192.0.2.7:15443 <- Service prod/east, EndpointSlice prod/web-1",
  ]);
  expect(endpoints(mesh, WEB, { NETWORK: "far" })).toEqual([
    "10.0.0.1:8080 <- EndpointSlice prod/web-1, Pod prod/web-0",
  ]);
});

test("all of a proxy together name each endpoint once, and none of the workload's own clusters", () => {
  const mesh = meshOf(
    kubeService("web"),
    kubePod("web-0", "10.0.0.1", NOWHERE),
    serviceEntry("db", { resolution: "DNS" }),
  );
  const metadata = { NAMESPACE: "prod", LABELS: { app: "web" }, INSTANCE_IPS: "10.0.0.1" };
  const view = mesh.view(nodeOfCase({ id: "sidecar~10.0.0.1~web-0.prod~prod.svc.cluster.local", metadata }));
  const all = explainAll(resourcesOf(view).resources, originsOf(view));
  const found = all.flatMap(({ type, name, parts }) =>
    parts.flatMap((part) => (part.kind === "endpoint" ? `${type} ${name} ${part.name}` : [])),
  );
  expect(all.some(({ name }) => name.startsWith("inbound|"))).toBe(true);
  expect(found).toEqual(["cds outbound|80||db.example 10.0.0.1:8080"]);
});
