import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { kubeNode, kubeService } from "../../../test/support/discovery/kubernetes-objects.ts";
import { registryOf } from "../../../test/support/discovery/kubernetes-registry.ts";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { until } from "../../../test/support/wait/until.ts";
import { CloseStack } from "../../base/close-stack.ts";
import { type MeshNetwork, parseMeshNetworks } from "../../istio-api/mesh-config/mesh-networks.ts";
import { createAggregateRegistry } from "../registries/create-aggregate-registry.ts";
import { connectNetworks } from "./connect-networks.ts";
import { startMeshNetworks } from "./start-mesh-networks.ts";

const folder = mkdtempSync(join(tmpdir(), "mesh-networks-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SERVICE = "east-west.prod.svc.cluster.local";
const fileOf = (networks: Readonly<Record<string, object>> = {}) => {
  const listeners = new Set<(value: readonly MeshNetwork[]) => void>();
  const file = {
    value: parseMeshNetworks({ networks }).networks,
    subscribe: (listener: (value: readonly MeshNetwork[]) => void) => void listeners.add(listener),
  };
  return {
    file,
    set: (changed: Readonly<Record<string, object>>) => {
      file.value = parseMeshNetworks({ networks: changed }).networks;
      for (const listener of listeners) listener(file.value);
    },
  };
};
const eastWest = (labels: Readonly<Record<string, string>>, addresses: readonly object[], externalIPs?: string[]) => ({
  ...kubeService("east-west", { type: "LoadBalancer", ...(externalIPs && { externalIPs }) }, { labels }),
  status: { loadBalancer: { ingress: addresses } },
});
const NETWORK = "topology.istio.io/network";

test.each([
  { is: "a label", labels: { [NETWORK]: "n1" }, gateways: ["n1 c1 192.0.2.1:15443", "n1 c1 192.0.2.2:15443"] },
  {
    is: "a label with a port",
    labels: { [NETWORK]: "n1", "networking.istio.io/gatewayPort": "443" },
    gateways: ["n1 c1 192.0.2.1:443", "n1 c1 192.0.2.2:443"],
  },
  {
    is: "a label with a port that is none",
    labels: { [NETWORK]: "n1", "networking.istio.io/gatewayPort": "https" },
    gateways: ["n1 c1 192.0.2.1:15443", "n1 c1 192.0.2.2:15443"],
  },
  { is: "the file", labels: {}, gateways: ["n2 c1 192.0.2.1:8443", "n2 c1 192.0.2.2:8443"] },
])("the external addresses of a Service are gateways of a network by $is", ({ labels, gateways }) => {
  const { networks } = parseMeshNetworks({
    networks: { n2: { gateways: [{ registryServiceName: SERVICE, port: 8443 }] } },
  });
  const { registry } = registryOf([eastWest(labels, [{ ip: "192.0.2.1" }], ["192.0.2.2"])], { networks });
  const shown = registry
    .gateways()
    .map(({ network, clusterId, address, port }) => `${network} ${clusterId} ${address}:${port}`);
  expect(shown).toEqual(gateways);
});

const onNodes = (selector: string, spec: object = {}) =>
  kubeService(
    "east-west",
    { type: "NodePort", ports: [{ name: "tls", port: 15443, nodePort: 32443 }], ...spec },
    { labels: { [NETWORK]: "n1" }, annotations: { "traffic.istio.io/nodeSelector": selector } },
  );
const shownGateways = ({ registry }: ReturnType<typeof registryOf>) =>
  registry.gateways().map(({ network, address, port }) => `${network} ${address}:${port}`);
const NODES = [
  kubeNode("b", { ingress: "yes", zone: "z2" }, "192.0.2.12"),
  kubeNode("a", { ingress: "yes", zone: "z1" }, "192.0.2.11"),
  kubeNode("c", { ingress: "no" }, "192.0.2.13"),
  kubeNode("d", { ingress: "yes" }),
];

test.each([
  { is: "their labels", selector: '{"ingress":"yes"}', addresses: ["192.0.2.11", "192.0.2.12"] },
  { is: "all of their labels", selector: '{"ingress":"yes","zone":"z2"}', addresses: ["192.0.2.12"] },
  { is: "an empty selector", selector: "", addresses: ["192.0.2.11", "192.0.2.12", "192.0.2.13"] },
  { is: "a selector that is none", selector: "ingress=yes", addresses: ["192.0.2.11", "192.0.2.12", "192.0.2.13"] },
  { is: "a selector of no node", selector: '{"ingress":"perhaps"}', addresses: [] },
])("nodes with an external address are gateways by $is, on the node's port", ({ selector, addresses }) => {
  const cluster = registryOf([onNodes(selector), ...NODES]);
  expect(shownGateways(cluster)).toEqual(addresses.map((address) => `n1 ${address}:32443`));
});

test("external addresses of the Service count before nodes, and without the annotation nodes do not count", () => {
  const external = onNodes('{"ingress":"yes"}', { externalIPs: ["192.0.2.99"] });
  expect(shownGateways(registryOf([external, ...NODES]))).toEqual(["n1 192.0.2.99:32443"]);
  const plain = onNodes("");
  const unmarked = { ...plain, metadata: { ...plain.metadata, annotations: {} } };
  expect(shownGateways(registryOf([unmarked, ...NODES]))).toEqual([]);
  expect(shownGateways(registryOf([onNodes("", { type: "ClusterIP" }), ...NODES]))).toEqual([]);
});

test("a node that joins, changes its labels or leaves changes the gateways, and any other change of nodes does not", () => {
  const cluster = registryOf([onNodes('{"ingress":"yes"}'), ...NODES]);
  let changes = 0;
  cluster.registry.subscribe(({ gateways }) => {
    if (gateways === true) changes += 1;
  });
  cluster.apply(kubeNode("e", { ingress: "yes" }, "192.0.2.15"));
  expect(shownGateways(cluster)).toContain("n1 192.0.2.15:32443");
  cluster.apply(kubeNode("e", { ingress: "no" }, "192.0.2.15"));
  expect(shownGateways(cluster)).not.toContain("n1 192.0.2.15:32443");
  cluster.remove(kubeNode("a", {}));
  expect(shownGateways(cluster)).toEqual(["n1 192.0.2.12:32443"]);
  expect(changes).toBe(3);
  cluster.apply(kubeNode("e", { ingress: "no", kernel: "6.12" }, "192.0.2.15"));
  expect(changes).toBe(3);
  cluster.remove(onNodes(""));
  expect(shownGateways(cluster)).toEqual([]);
  cluster.apply(kubeNode("a", { ingress: "yes" }, "192.0.2.11"));
  expect(shownGateways(cluster)).toEqual([]);
});

test("gateways of file, Services and names are one value, which changes when one of them does", async () => {
  await using opened = new CloseStack();
  const { file, set } = fileOf({ far: { gateways: [{ address: "192.0.2.9", port: 443 }] } });
  const cluster = registryOf([]);
  const registry = createAggregateRegistry([cluster.registry]);
  let answers: readonly string[] = ["198.51.100.2", "198.51.100.1"];
  const networks = connectNetworks({
    file,
    registry,
    log: recordLog(),
    opened,
    resolve: async () => answers,
    refreshMs: 5,
  });
  let changes = 0;
  networks.subscribe(() => {
    changes += 1;
  });
  const addresses = () => networks.current.gateways.map(({ network, address }) => `${network} ${address}`);
  expect(addresses()).toEqual(["far 192.0.2.9"]);
  cluster.apply(eastWest({ [NETWORK]: "near" }, [{ hostname: "balancer.example" }]));
  expect(networks.unresolved()).toMatchObject([{ address: "balancer.example" }]);
  await until(() => expect(addresses()).toEqual(["far 192.0.2.9", "near 198.51.100.1", "near 198.51.100.2"]));
  expect(networks.unresolved()).toEqual([]);
  answers = ["198.51.100.3"];
  await until(() => expect(addresses()).toEqual(["far 192.0.2.9", "near 198.51.100.3"]));
  set({});
  expect(addresses()).toEqual(["near 198.51.100.3"]);
  const before = changes;
  cluster.apply(kubeService("other"));
  expect(changes).toBe(before);
  cluster.remove(eastWest({}, []));
  expect(addresses()).toEqual([]);
});

test("a name that does not resolve is reported once and keeps the addresses it had", async () => {
  await using opened = new CloseStack();
  const log = recordLog();
  const { file } = fileOf({ far: { gateways: [{ address: "gateway.example", port: 443 }] } });
  let asked = 0;
  const networks = connectNetworks({
    file,
    registry: createAggregateRegistry([]),
    log,
    opened,
    resolve: async () => {
      asked += 1;
      if (asked > 1) throw new Error("no such name");
      return ["192.0.2.4"];
    },
    refreshMs: 2,
  });
  await until(() => expect(asked).toBeGreaterThan(4));
  expect(networks.current.gateways).toMatchObject([{ address: "192.0.2.4" }]);
  expect(log.text().split("does not resolve").length).toBe(2);
});

test("networks of endpoints: the label, then that of the system namespace, then the file", () => {
  const { networks } = parseMeshNetworks({ networks: { wide: { endpoints: [{ fromCidr: "10.0.0.0/8" }] } } });
  const cluster = registryOf([], { networks });
  expect(cluster.registry.networkOf("10.1.1.1")).toBe("wide");
  expect(cluster.registry.networkOf("11.1.1.1")).toBe("");
  cluster.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "istio-system", labels: { [NETWORK]: "own" } },
  });
  expect(cluster.registry.networkOf("10.1.1.1")).toBe("own");
});

test("a file that cannot be used ends a start, and later leaves the last one in force", async () => {
  await using opened = new CloseStack();
  const path = join(folder, "networks.yaml");
  const log = recordLog();
  writeFileSync(path, "networks: {a: {gateways: [{address: 192.0.2.1}]}}");
  await expect(startMeshNetworks({ path, log })).rejects.toThrow(
    `failed reading mesh networks: file ${path}: networks.a.gateways[0].port: 0 is not a port, allowed are 1 to 65535`,
  );
  writeFileSync(path, "networks: {a: {}}");
  const file = opened.add(await startMeshNetworks({ path, log }));
  writeFileSync(path, "networks: [");
  await until(() => expect(log.text()).toContain("mesh networks cannot be used, the last one stays"));
  expect(file.value.map(({ name }) => name)).toEqual(["a"]);
  writeFileSync(path, "networks: {b: {}}");
  await until(() => expect(file.value.map(({ name }) => name)).toEqual(["b"]));
});
