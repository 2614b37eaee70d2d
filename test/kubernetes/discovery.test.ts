import { expect, test } from "vitest";
import { decodeMessage } from "../../src/protobuf/envoy/index.ts";
import { kubePod, kubeService, kubeSlice } from "../support/discovery/kubernetes-objects.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const place = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await kubernetes.apply(manifests(namespace("prod"), namespace("istio-system")));
  await kubernetes.apply(
    manifests({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: "prod" } }),
  );
  const server = opened.add(
    await startDiscoveryServer({ kubernetes: { kubeconfig: kubernetes.kubeconfig, environment: {} } }),
  );
  return { kubernetes, server };
});

function manifests(...objects: readonly object[]): readonly Manifest[] {
  return objects as readonly Manifest[];
}

const pod = (name: string, ip: string) => kubePod(name, ip, { spec: { containers: [{ name: "app", image: "none" }] } });

/** Endpoints of a cluster as a proxy is sent them, newest last. */
function followEndpoints(port: number, cluster: string) {
  const stream = openSotw({ port, library: "ours" });
  stream.send({ node: testNode(), typeUrl: URLS.EDS, resourceNames: [cluster] });
  const addresses = () => {
    const [resource] = stream.responses.at(-1)?.resources ?? [];
    const { endpoints = [] } = decodeMessage(
      "envoy.config.endpoint.v3.ClusterLoadAssignment",
      Buffer.from(resource?.value ?? []),
    );
    return endpoints.flatMap(({ lbEndpoints = [] }) =>
      lbEndpoints.map(({ endpoint }) => endpoint?.address?.socketAddress?.address),
    );
  };
  return { stream, addresses };
}

/** The shortest of several times: what the machine does besides is not what is measured. */
const WRITES = 5;

test("a service, its pods and its slices appear at a proxy within a second of the write, and go with the slice", async () => {
  const { kubernetes, server } = place();
  const { stream, addresses } = followEndpoints(server.ports.grpc, "outbound|80||web.prod.svc.cluster.local");
  await using _stream = stream;
  const slice = (address: string, podName?: string) =>
    kubeSlice("web", [{ address, ...(podName !== undefined && { pod: podName }) }]);
  await kubernetes.apply(
    manifests(kubeService("web", { clusterIP: "10.96.0.77" }), pod("web-0", "10.0.0.1"), slice("10.0.0.1", "web-0")),
  );
  await until(() => expect(addresses()).toEqual(["10.0.0.1"]));
  const times: number[] = [];
  for (let at = 0; at < WRITES; at += 1) {
    const address = `10.0.1.${at}`;
    await kubernetes.kubectl(
      ["apply", "--server-side", "--force-conflicts", "-f", "-"],
      JSON.stringify(slice(address)),
    );
    const since = performance.now();
    await until(() => expect(addresses()).toEqual([address]));
    times.push(performance.now() - since);
  }
  // The best of several: a machine that stands still spoils one of them.
  expect(Math.min(...times)).toBeLessThan(1000);
  await kubernetes.kubectl(["delete", "endpointslice", "web-1", "-n", "prod"]);
  await until(() => expect(addresses()).toEqual([]));
});

test("rules count from the moment their definition and they are there", async () => {
  const { kubernetes, server } = place();
  const shown = () => server.discovery.snapshot.configs.list("VirtualService").map(({ name }) => name);
  expect(shown()).toEqual([]);
  await kubernetes.apply(ruleDefinitions(["VirtualService"]));
  const rule = {
    apiVersion: "networking.istio.io/v1beta1",
    kind: "VirtualService",
    metadata: { name: "web", namespace: "prod" },
    spec: { hosts: ["web"], http: [{ route: [{ destination: { host: "web" } }] }] },
  };
  await kubernetes.kubectl(["apply", "-f", "-"], JSON.stringify(rule));
  await until(() => expect(shown()).toEqual(["web"]));
  await kubernetes.kubectl(["delete", "virtualservice", "web", "-n", "prod"]);
  await until(() => expect(shown()).toEqual([]));
});

test("the mesh config of the cluster counts where there is no file, and changes with it", async () => {
  const { kubernetes } = place();
  const map = (mesh: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio", namespace: "istio-system" },
    data: { mesh },
  });
  await kubernetes.apply(
    manifests({ apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } }, map("rootNamespace: one")),
  );
  await using server = await startDiscoveryServer({
    kubernetes: { kubeconfig: kubernetes.kubeconfig, environment: {} },
    meshConfigFile: "/does/not/exist",
  });
  expect(server.discovery.snapshot.mesh.rootNamespace).toBe("one");
  await kubernetes.apply(manifests(map("rootNamespace: two")));
  await until(() => expect(server.discovery.snapshot.mesh.rootNamespace).toBe("two"));
});

test("rules of files, of the cluster and of the config API stand side by side, and of one name the file's counts", async () => {
  const { kubernetes } = place();
  const entry = (address: string) => ({
    apiVersion: "networking.istio.io/v1",
    kind: "WorkloadEntry",
    metadata: { name: "vm", namespace: "prod" },
    spec: { address },
  });
  await kubernetes.apply(ruleDefinitions(["WorkloadEntry"]));
  await until("the kind is stored", async () => {
    await kubernetes.apply(manifests(entry("10.1.0.1")));
  });
  await using server = await startDiscoveryServer({
    kubernetes: { kubeconfig: kubernetes.kubeconfig, environment: {} },
  });
  const address = () => server.discovery.snapshot.configs.get("WorkloadEntry", "prod", "vm")?.spec.address;
  server.discovery.store.put(entry("10.1.0.2"));
  await until(() => expect(address()).toBe("10.1.0.1"));
  server.write("vm.yaml", JSON.stringify(entry("10.1.0.3")));
  await until(() => expect(address()).toBe("10.1.0.3"));
  server.write("vm.yaml", undefined);
  await kubernetes.delete(entry(""));
  await until(() => expect(address()).toBe("10.1.0.2"));
});
