import { expect, test } from "vitest";
import {
  kubeNamespace,
  kubeNode,
  kubePod,
  kubeService,
  kubeSlice,
} from "../../../../test/support/discovery/kubernetes-objects.ts";
import type { MessageShape } from "../../../kubernetes/index.ts";
import type { KubernetesObject } from "../../../mesh-model/kubernetes-object.ts";
import { OBJECT_SHAPES } from "./object-shapes.ts";
import { REDUCERS, type ReducedKinds } from "./reduce-object.ts";

/** Paths that are asked for below the object; members of labels and of lists of texts are not told apart. */
function readsOf(kind: keyof ReducedKinds, object: KubernetesObject): ReadonlySet<string> {
  const reads = new Set<string>();
  const record = (value: unknown, path: string): unknown => {
    if (typeof value !== "object" || value === null) return value;
    return new Proxy(value, {
      get: (target, member) => {
        const inner: unknown = Reflect.get(target, member);
        if (typeof member === "symbol" || typeof inner === "function" || member === "length") return inner;
        const own = Array.isArray(target) ? path : `${path}.${member}`;
        reads.add(own);
        return record(inner, own);
      },
    });
  };
  REDUCERS[kind](record(object, "") as KubernetesObject);
  return reads;
}

function pathsOf(shape: MessageShape, above = ""): readonly string[] {
  return [...shape.values()].flatMap(({ name, type }) => {
    const own = `${above}.${name}`;
    return typeof type === "string" ? [own] : [own, ...pathsOf(type.message, own)];
  });
}

const container = {
  name: "app",
  restartPolicy: "Always",
  ports: [{ name: "http", containerPort: 80, protocol: "TCP" }],
};
const owner = { kind: "ReplicaSet", name: "web-5d8", controller: true };
const OBJECTS: { readonly [Of in keyof ReducedKinds]: readonly KubernetesObject[] } = {
  Namespace: [kubeNamespace("prod", { a: "b" }, { "networking.istio.io/traffic-distribution": "PreferClose" })],
  Node: [kubeNode("n1", { "topology.kubernetes.io/zone": "z" }, "192.0.2.1")],
  Pod: [
    kubePod("web-0", "10.0.0.1", {
      metadata: { labels: { "pod-template-hash": "5d8" }, ownerReferences: [owner] },
      spec: { subdomain: "web", hostname: "first", containers: [container], initContainers: [container] },
    }),
    kubePod("web-1", "10.0.0.2"),
  ],
  Service: [
    {
      ...kubeService("web", {
        type: "LoadBalancer",
        clusterIPs: ["10.96.0.1", "fd00::1"],
        externalIPs: ["192.0.2.1"],
        publishNotReadyAddresses: true,
        internalTrafficPolicy: "Local",
        ports: [{ name: "http", port: 80, targetPort: "web", protocol: "TCP", appProtocol: "http" }],
      }),
      status: { loadBalancer: { ingress: [{ hostname: "lb.example" }, { ip: "192.0.2.2" }] } },
    },
    kubeService("outside", { type: "ExternalName", externalName: "a.example", clusterIP: undefined }),
    kubeService("nodes", { type: "NodePort" }, { annotations: { "traffic.istio.io/nodeSelector": "{}" } }),
  ],
  EndpointSlice: [
    kubeSlice("web", [{ address: "10.0.0.1", pod: "web-0", conditions: { ready: false, serving: false } }]),
  ],
};

test.each(Object.keys(OBJECTS) as (keyof ReducedKinds)[])(
  "everything that is read of a %s is in the shape that is decoded, and nothing else is",
  (kind) => {
    const read = new Set(OBJECTS[kind].flatMap((object) => [...readsOf(kind, object)]));
    const paths = pathsOf(OBJECT_SHAPES[kind]);
    // What is read below a leaf is a label, or an entry of a list of texts.
    const isLeaf = (path: string) =>
      paths.some((own) => path.startsWith(`${own}.`) && !paths.some((other) => other.startsWith(`${own}.`)));
    expect([...read].filter((path) => !paths.includes(path) && !isLeaf(path))).toEqual([]);
    // The version is the reflector's, and names every object has.
    const identity = [".metadata.resourceVersion", ".metadata.name", ".metadata.namespace"];
    expect(paths.filter((path) => !read.has(path) && !identity.includes(path))).toEqual([]);
  },
);
