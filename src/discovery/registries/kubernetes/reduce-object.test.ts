import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { kubePod, kubeService, kubeSlice } from "../../../../test/support/discovery/kubernetes-objects.ts";
import { registryOf } from "../../../../test/support/discovery/kubernetes-registry.ts";
import type { KubernetesObject } from "../../../mesh-model/kubernetes-object.ts";
import { REDUCERS, type ReducedKinds } from "./reduce-object.ts";

const KINDS = Object.keys(REDUCERS) as (keyof ReducedKinds)[];

describe("objects as no one should write them", () => {
  const anything = fc.anything({ maxDepth: 3 });
  const port = fc.record({
    name: anything,
    port: anything,
    targetPort: anything,
    protocol: anything,
    appProtocol: anything,
  });
  const meta = fc.record({
    name: fc.constantFrom("a", "b"),
    namespace: fc.constantFrom("prod", "dev"),
    labels: fc.oneof(anything, fc.constant({ "kubernetes.io/service-name": "a" })),
    annotations: anything,
    creationTimestamp: anything,
    ownerReferences: anything,
  });
  const object = fc.record({
    kind: fc.constantFrom(...KINDS),
    metadata: meta,
    addressType: anything,
    ports: fc.oneof(anything, fc.array(port)),
    endpoints: fc.oneof(
      anything,
      fc.array(fc.record({ addresses: anything, conditions: anything, targetRef: anything })),
    ),
    spec: fc.oneof(
      anything,
      fc.record({
        ports: fc.array(port),
        selector: anything,
        clusterIP: anything,
        clusterIPs: anything,
        containers: anything,
      }),
    ),
    status: fc.oneof(
      anything,
      fc.record({ podIP: anything, podIPs: anything, conditions: anything, loadBalancer: anything }),
    ),
  });

  test("are read as far as they can be, and never end in an error", () => {
    fc.assert(
      fc.property(fc.array(object, { maxLength: 12 }), (objects) => {
        const { registry } = registryOf(objects as readonly KubernetesObject[]);
        for (const { key } of registry.services()) expect(registry.endpoints(key)).toBeInstanceOf(Array);
        registry.targets({ addresses: ["10.0.0.1"], namespace: "prod", id: "a.prod", labels: { app: "a" } });
      }),
    );
  });
});

test.each([
  { name: "http-api", protocol: "HTTP" },
  { name: "grpc-web-x", protocol: "GRPC-Web" },
  { name: "tcp", appProtocol: "https", protocol: "HTTPS" },
  { name: "http", transport: "UDP", protocol: "UDP" },
  { name: "", port: 3306, protocol: "TCP" },
  { name: "httpfoo", protocol: "Unsupported" },
])("a port named '$name' ($appProtocol, $transport, $port) speaks $protocol", (given) => {
  const { name, appProtocol, transport = "TCP", port = 80, protocol } = given;
  const ports = [{ name, port, protocol: transport, ...(appProtocol !== undefined && { appProtocol }) }];
  expect(REDUCERS.Service(kubeService("web", { ports }))?.ports).toMatchObject([{ protocol, target: port }]);
});

test("of UDP and TCP on one number TCP is read, and UDP alone stays", () => {
  const ports = [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "dns-tcp", port: 53, protocol: "TCP" },
    { name: "quic", port: 443, protocol: "UDP" },
  ];
  expect(REDUCERS.Service(kubeService("dns", { ports }))?.ports.map(({ name }) => name)).toEqual(["dns-tcp", "quic"]);
});

test.each([
  { is: "without address", status: { podIP: undefined, podIPs: [] } },
  { is: "that failed", status: { phase: "Failed" } },
  { is: "that is done", status: { phase: "Succeeded" } },
])("a pod $is is none", ({ status }) => {
  expect(REDUCERS.Pod(kubePod("web-0", "10.0.0.1", { status }))).toBeUndefined();
});

test.each([
  { owner: { kind: "ReplicaSet", name: "web-5f6c" }, labels: { "pod-template-hash": "5f6c" }, workload: "web" },
  { owner: { kind: "StatefulSet", name: "db" }, labels: {}, workload: "db" },
  { owner: undefined, labels: {}, workload: "web-0" },
  { owner: undefined, labels: { "service.istio.io/workload-name": "own" }, workload: "own" },
])("a pod of $owner with labels $labels belongs to the workload $workload", ({ owner, labels, workload }) => {
  const ownerReferences = owner === undefined ? undefined : [{ ...owner, controller: true }];
  const pod = kubePod("web-0", "10.0.0.1", { metadata: { labels, ownerReferences } });
  expect(REDUCERS.Pod(pod)?.workloadName).toBe(workload);
});

test.each([
  { is: "of no service", labels: {} },
  { is: "of names", more: { addressType: "FQDN" } },
  {
    is: "of an imported service",
    labels: { "kubernetes.io/service-name": "a", "multicluster.kubernetes.io/service-name": "a" },
  },
])("a slice $is is not read", ({ labels, more }) => {
  const slice = kubeSlice("web", [{ address: "10.0.0.1" }]);
  const metadata = { ...slice.metadata, ...(labels && { labels }) };
  expect(REDUCERS.EndpointSlice({ ...slice, ...more, metadata } as KubernetesObject)).toBeUndefined();
});
