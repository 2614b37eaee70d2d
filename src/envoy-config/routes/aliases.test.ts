import { expect, test } from "vitest";
import { kubeService } from "../../../test/support/discovery/kubernetes-objects.ts";
import { testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { snapshotOfKubernetes } from "../../../test/support/mesh-model/view-of-kubernetes.ts";
import type { KubernetesObject } from "../../mesh-model/kubernetes-object.ts";
import { generateRoute } from "./generate-route.ts";

const HOST = "web.prod.svc.cluster.local";
const alias = (name: string, externalName: string, ports?: readonly object[]) =>
  kubeService(name, { type: "ExternalName", externalName, clusterIP: undefined, selector: undefined, ports });
const rule = (kind: string, name: string, spec: object): KubernetesObject => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name, namespace: "prod" },
  spec,
});

function virtualHosts(...objects: readonly KubernetesObject[]) {
  const { outbound } = snapshotOfKubernetes([kubeService("web"), ...objects]).view(testNode({ namespace: "prod" }));
  return new Map((generateRoute(outbound, "80").virtualHosts ?? []).map((host) => [host.name, host]));
}

const domains = (...objects: readonly KubernetesObject[]) =>
  (virtualHosts(...objects).get(`${HOST}:80`)?.domains ?? []).filter((domain) =>
    domain.endsWith(".prod.svc.cluster.local"),
  );

test.each([
  { is: "with ports", objects: [alias("other", HOST, [{ port: 80 }])], names: ["other"] },
  { is: "without ports", objects: [alias("other", HOST)], names: ["other"] },
  {
    is: "of an alias",
    objects: [alias("first", "second.prod.svc.cluster.local"), alias("second", HOST)],
    names: ["first", "second"],
  },
  { is: "of a host that is not known", objects: [alias("other", "nowhere.example")], names: [] },
  {
    is: "in a circle",
    objects: [alias("a", "b.prod.svc.cluster.local"), alias("b", "a.prod.svc.cluster.local")],
    names: [],
  },
])("an alias $is gives the service the names $names", ({ objects, names }) => {
  expect(domains(...objects)).toEqual([HOST, ...names.map((name) => `${name}.prod.svc.cluster.local`)]);
  expect([...virtualHosts(...objects).keys()]).toEqual([`${HOST}:80`, "allow_any"]);
});

const toAlias = rule("VirtualService", "front", {
  hosts: ["front.example"],
  http: [{ route: [{ destination: { host: "first" } }] }],
});
const chain = [alias("first", "second.prod.svc.cluster.local"), alias("second", HOST)];

test.each([
  { is: "", sidecar: [] },
  {
    is: " in a scope that only the rule is imported to",
    sidecar: [rule("Sidecar", "s", { egress: [{ hosts: ["./front.example"] }] })],
  },
])("a route to an alias goes to what is behind it$is", ({ sidecar }) => {
  const host = virtualHosts(...chain, toAlias, ...sidecar).get("front.example:80");
  expect(host?.routes?.[0]?.route?.cluster).toBe(`outbound|80||${HOST}`);
});

test("a Sidecar object shows those names of a service that it imports", () => {
  const sidecar = rule("Sidecar", "s", { egress: [{ hosts: [`./${HOST}`, "./second.prod.svc.cluster.local"] }] });
  expect(domains(...chain, sidecar)).toEqual([HOST, "second.prod.svc.cluster.local"]);
});
