import { expect, test } from "vitest";
import { decodeMessage } from "../../src/protobuf/envoy/index.ts";
import { SECRET_TYPE } from "../../src/xds/type-urls.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { renderChart } from "../support/deploy/render-chart.ts";
import { certificatesOf, gatewayNode, tlsSecret } from "../support/discovery/gateway.ts";
import { kubeNode, kubePod, kubeService, kubeSlice } from "../support/discovery/kubernetes-objects.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { type Kubernetes, startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
import { injector, validator } from "../support/webhooks/configurations.ts";
import { webhookSettings } from "../support/webhooks/settings.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const place = sharedPlace(["kubernetes"], async (opened) => {
  const [own, east] = await Promise.all([startKubernetes(), startKubernetes()]);
  const clusters = { own: opened.add(own), east: opened.add(east) };
  const namespace = (name: string, labels = {}) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels },
  });
  for (const [id, cluster] of Object.entries(clusters)) {
    await cluster.apply(
      manifests(
        namespace("prod"),
        namespace("istio-system", id === "east" ? { "topology.istio.io/network": "east-network" } : {}),
        { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: "prod" } },
        ...web(id === "own" ? "10.1.0.1" : "10.2.0.1"),
      ),
    );
  }
  return clusters;
});

function manifests(...objects: readonly object[]): readonly Manifest[] {
  return objects as readonly Manifest[];
}

const pod = (name: string, ip: string) => kubePod(name, ip, { spec: { containers: [{ name: "app", image: "none" }] } });

/** The service `web` of a cluster with one pod. */
function web(address: string): readonly object[] {
  const service = kubeService("web");
  const spec = { ...(service.spec as object), clusterIP: undefined };
  return [{ ...service, spec }, pod("web-0", address), kubeSlice("web", [{ address, pod: "web-0" }])];
}

const secret = (name: string, data: Readonly<Record<string, string>>) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: "istio-system", labels: { "istio/multiCluster": "true" } },
  stringData: data,
});

const remoteSecret = (cluster: Kubernetes, id = "east") =>
  secret(`remote-${id}`, { [id]: cluster.kubeconfigFor({ token: cluster.adminToken }) });

const start = (
  remote: { readonly timeoutMs?: number; readonly staleMs?: number } = {},
  more: Parameters<typeof startDiscoveryServer>[0] = {},
) =>
  startDiscoveryServer({
    ...more,
    clusterId: "own",
    kubernetes: {
      kubeconfig: place().own.kubeconfig,
      environment: {},
      remote: { timeoutMs: 30_000, staleMs: 0, allowedOptions: [], ...remote },
    },
  });

/** The endpoints of `web` as a proxy is sent them, newest last. */
function followWeb({ ports }: DiscoveryServer, metadata = {}) {
  const stream = openSotw({ port: ports.grpc, library: "ours" });
  stream.send({
    node: testNode({ metadata }),
    typeUrl: URLS.EDS,
    resourceNames: ["outbound|80||web.prod.svc.cluster.local"],
  });
  const addresses = () => {
    const [resource] = stream.responses.at(-1)?.resources ?? [];
    const { endpoints = [] } = decodeMessage(
      "envoy.config.endpoint.v3.ClusterLoadAssignment",
      Buffer.from(resource?.value ?? []),
    );
    return endpoints
      .flatMap(({ lbEndpoints = [] }) => lbEndpoints.map(({ endpoint }) => endpoint?.address?.socketAddress?.address))
      .toSorted();
  };
  return { addresses, [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose]() };
}

interface ShownSource {
  readonly cluster: string;
  readonly state: string;
  readonly kinds: readonly { readonly kind: string; readonly synced: boolean; readonly objects: number }[];
}

const freshnessOf = async (server: DiscoveryServer, cluster: string) => {
  const sources = (await (await server.get("/debug/freshness")).json()) as readonly ShownSource[];
  return sources.find((source) => source.cluster === cluster);
};
const readiness = async (server: DiscoveryServer) => {
  const answer = await server.get("/ready");
  return `${answer.status} ${await answer.text()}`.trim();
};

const BOTH = ["10.1.0.1", "10.2.0.1"];
const OWN = ["10.1.0.1"];

test("a cluster joins with its Secret, changes with it and leaves with it, while a proxy watches", async () => {
  const { own, east } = place();
  await using server = await start();
  await using proxy = followWeb(server);
  await until(() => expect(proxy.addresses()).toEqual(OWN));
  await own.apply(manifests(remoteSecret(east)));
  await until(() => expect(proxy.addresses()).toEqual(BOTH), 30_000);
  expect(await (await server.get("/debug/clusterz")).json()).toEqual([
    { id: "own", secretName: "", syncStatus: "synced" },
    { id: "east", secretName: "istio-system/remote-east", syncStatus: "synced" },
  ]);
  const east1 = server.discovery.snapshot.services
    .flatMap(({ key }) => server.discovery.snapshot.endpoints(key))
    .find(({ addresses }) => addresses[0] === "10.2.0.1");
  expect(east1).toMatchObject({ clusterId: "east", network: "east-network" });
  // Another account of the same cluster takes over without a gap.
  const seen = new Set<string>();
  const watching = setInterval(() => seen.add(proxy.addresses().join()), 5);
  const token = await east.token({ namespace: "prod", account: "web" });
  await east.apply(manifests(clusterAdmin("web")));
  await own.apply(manifests(secret("remote-east", { east: east.kubeconfigFor({ token }) })));
  await until(
    "the new kubeconfig is in force",
    () => server.log.text().split("services of a cluster are known").length === 3,
  );
  await east.apply(manifests(...web("10.2.0.2")));
  await until(() => expect(proxy.addresses()).toEqual(["10.1.0.1", "10.2.0.2"]), 30_000);
  clearInterval(watching);
  expect([...seen].filter((addresses) => !addresses.includes("10.2."))).toEqual([]);
  await east.apply(manifests(...web("10.2.0.1")));
  await own.kubectl(["-n", "istio-system", "delete", "secret", "remote-east"]);
  await until(() => expect(proxy.addresses()).toEqual(OWN), 30_000);
});

const clusterAdmin = (account: string) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: `${account}-admin` },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "ServiceAccount", name: account, namespace: "prod" }],
});

test("a cluster that is killed keeps its endpoints, stale, until their time is over, and has them again when it is back", async () => {
  const { own, east } = place();
  await own.apply(manifests(remoteSecret(east)));
  await using server = await start({ staleMs: 8000 });
  await using proxy = followWeb(server);
  await until(() => expect(proxy.addresses()).toEqual(BOTH), 30_000);
  expect(await readiness(server)).toBe("200 ready");
  await east.kill();
  await until(async () => expect((await freshnessOf(server, "east"))?.state).toBe("stale"), 30_000);
  expect(proxy.addresses()).toEqual(BOTH);
  expect(await readiness(server)).toMatch(
    /^200 ready\ncluster east is away for \d+ s, its endpoints are stale: cannot /,
  );
  expect(await (await server.get("/metrics")).text()).toContain("pilot_stale_clusters 1");
  // The rest of the mesh goes on.
  await own.apply(
    manifests(
      pod("web-1", "10.1.0.2"),
      kubeSlice("web", [
        { address: "10.1.0.1", pod: "web-0" },
        { address: "10.1.0.2", pod: "web-1" },
      ]),
    ),
  );
  await until(() => expect(proxy.addresses()).toContain("10.1.0.2"));
  await own.apply(manifests(...web("10.1.0.1")));
  await until(() => expect(proxy.addresses()).toEqual(OWN), 60_000);
  expect((await freshnessOf(server, "east"))?.state).toBe("let-go");
  await east.restart();
  await until(() => expect(proxy.addresses()).toEqual(BOTH), 60_000);
  await until(async () => expect(await readiness(server)).toBe("200 ready"), 60_000);
});

test("a start waits for a cluster that is frozen for a while and no longer, and says so when it is ready", async () => {
  const { own, east } = place();
  await own.apply(manifests(remoteSecret(east)));
  east.freeze();
  try {
    await using server = await start({ timeoutMs: 1500 });
    expect(await readiness(server)).toMatch(/^200 ready\ncluster east is not known: /);
    await using proxy = followWeb(server);
    await until(() => expect(proxy.addresses()).toEqual(OWN));
    east.thaw();
    await until(() => expect(proxy.addresses()).toEqual(BOTH), 90_000);
  } finally {
    east.thaw();
  }
});

test("what a kubeconfig may not use of this machine is refused by name, and the other clusters are followed", async () => {
  const { own, east } = place();
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "/bin/true" };
  await own.apply(
    manifests(secret("remote-west", { west: east.kubeconfigFor({ exec }), own: "x" }), remoteSecret(east)),
  );
  await using server = await start();
  await using proxy = followWeb(server);
  await until(() => expect(proxy.addresses()).toEqual(BOTH), 30_000);
  expect(await readiness(server)).toMatch(/cluster west is not known: .*user .* has exec, which is not allowed/);
  expect(server.log.text()).toContain("own is the control plane's own cluster");
  await own.kubectl(["-n", "istio-system", "delete", "secret", "remote-west"]);
  await until(async () => expect(await readiness(server)).toBe("200 ready"));
});

test("tokens of a remote cluster are reviewed by that cluster", async () => {
  const { own, east } = place();
  await own.apply(manifests(remoteSecret(east)));
  await using server = await start();
  await until(async () => expect((await freshnessOf(server, "east"))?.state).toBe("synced"), 30_000);
  const tls = { ca: server.discovery.rootPem };
  const token = await east.token({ namespace: "prod", account: "web", audiences: ["istio-ca"] });
  const ask = async (clusterId: string) => {
    await using stream = openSotw({ port: server.ports.secureGrpc, token, tls, clusterId, library: "ours" });
    const metadata = { NAMESPACE: "prod", SERVICE_ACCOUNT: "web", INSTANCE_IPS: "10.2.0.1", CLUSTER_ID: clusterId };
    stream.send({ node: testNode({ metadata }), typeUrl: URLS.CDS });
    return await Promise.race([stream.next().then(() => "answered"), stream.ended.then(({ code }) => code)]);
  };
  expect(await ask("east")).toBe("answered");
  expect(await ask("own")).toBe("UNAUTHENTICATED");
  expect(await ask("north")).toBe("UNAUTHENTICATED");
});

test("a proxy calls a service by the address that its own cluster gave it", async () => {
  const { own, east } = place();
  await own.apply(manifests(remoteSecret(east)));
  await using server = await start();
  await until(async () => expect((await freshnessOf(server, "east"))?.state).toBe("synced"), 30_000);
  for (const [id, cluster] of [["own", own] as const, ["east", east] as const]) {
    const { spec } = await cluster.api.json({ path: "/api/v1/namespaces/prod/services/web" });
    const { clusterIP } = spec as { clusterIP: string };
    await using stream = openSotw({ port: server.ports.grpc, library: "ours" });
    stream.send({ node: testNode({ metadata: { CLUSTER_ID: id } }), typeUrl: URLS.RDS, resourceNames: ["80"] });
    await stream.next();
    const [resource] = stream.responses[0]?.resources ?? [];
    const { virtualHosts = [] } = decodeMessage(
      "envoy.config.route.v3.RouteConfiguration",
      Buffer.from(resource?.value ?? []),
    );
    const domains = virtualHosts.find(({ name }) => name === "web.prod.svc.cluster.local:80")?.domains ?? [];
    expect(domains.filter((domain) => domain.startsWith("10."))).toEqual([clusterIP]);
  }
});

test("a gateway of a remote cluster gets that cluster's Secrets, and those of the own cluster where it has none", async () => {
  const { own, east } = place();
  const ca = await createTestCa();
  const [near, far, only] = [await ca.pair(["a.example"]), await ca.pair(["a.example"]), await ca.pair(["b.example"])];
  await own.apply(manifests(remoteSecret(east), tlsSecret("prod", "a", near), tlsSecret("prod", "b", only)));
  await east.apply(manifests(tlsSecret("prod", "a", far)));
  await using server = await start();
  await until(async () => expect((await freshnessOf(server, "east"))?.state).toBe("synced"), 30_000);
  const token = await east.token({ namespace: "prod", account: "web", audiences: ["istio-ca"] });
  const tls = { ca: server.discovery.rootPem };
  await using stream = openSotw({ port: server.ports.secureGrpc, token, tls, clusterId: "east" });
  const resourceNames = ["kubernetes://a", "kubernetes://b"];
  stream.send({ node: gatewayNode("prod", "web", "east"), typeUrl: SECRET_TYPE, resourceNames });
  // The account's rights in its own cluster decide.
  await east.apply(manifests(clusterAdmin("web")));
  // A response has what is new.
  const received = () => Object.assign({}, ...stream.responses.map(certificatesOf)) as Record<string, string>;
  const both = { "kubernetes://a": far.cert, "kubernetes://b": only.cert };
  await until(() => expect(received()).toEqual(both), 60_000);
  const next = await ca.pair(["a.example"]);
  await east.apply(manifests(tlsSecret("prod", "a", next)));
  await until(() => expect(received()["kubernetes://a"]).toBe(next.cert));
});

test("roots are kept in the namespaces of a cluster that names the control plane's cluster, and only then", async () => {
  const { own, east } = place();
  await own.apply(manifests(remoteSecret(east)));
  await using server = await start();
  await until(async () => expect((await freshnessOf(server, "east"))?.state).toBe("synced"), 30_000);
  const roots = async () => {
    const path = "/api/v1/namespaces/prod/configmaps/istio-ca-root-cert";
    const { data } = (await east.api.json({ path }).catch(() => ({}))) as { data?: Readonly<Record<string, string>> };
    return data?.["root-cert.pem"];
  };
  expect(await roots()).toBeUndefined();
  const annotate = (value: string) =>
    east.kubectl(["annotate", "--overwrite", "ns", "istio-system", `topology.istio.io/controlPlaneClusters=${value}`]);
  await annotate("west, own");
  await until(async () => expect(await roots()).toBe(server.discovery.rootPem), 30_000);
  await annotate("west");
  await east.kubectl(["-n", "prod", "delete", "configmap", "istio-ca-root-cert"]);
  await own.apply(manifests(...web("10.1.0.1")));
  expect(await roots()).toBeUndefined();
});

test("endpoints of a cluster on another network are the addresses of its east-west gateway, as its Service has them", async () => {
  const { own, east } = place();
  await own.apply(manifests(remoteSecret(east)));
  await using server = await start();
  await using proxy = followWeb(server, { NETWORK: "own-network" });
  await until(() => expect(proxy.addresses()).toEqual(BOTH), 30_000);
  const gateway = {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: "eastwest",
      namespace: "istio-system",
      labels: { "topology.istio.io/network": "east-network" },
    },
    spec: { externalIPs: ["192.0.2.7"], selector: { app: "eastwest" }, ports: [{ name: "tls", port: 15443 }] },
  };
  await east.apply(manifests(gateway));
  await until(() => expect(proxy.addresses()).toEqual(["10.1.0.1", "192.0.2.7"]), 30_000);
  await east.kubectl(["-n", "istio-system", "delete", "service", "eastwest"]);
  await until(() => expect(proxy.addresses()).toEqual(BOTH), 30_000);
});

test("nodes of a cluster on another network are its gateways, where a NodePort Service selects them", async () => {
  const { own, east } = place();
  await own.apply(manifests(remoteSecret(east)));
  await using server = await start();
  await using proxy = followWeb(server, { NETWORK: "own-network" });
  await until(() => expect(proxy.addresses()).toEqual(BOTH), 30_000);
  const gateway = {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: "eastwest-nodes",
      namespace: "istio-system",
      labels: { "topology.istio.io/network": "east-network" },
      annotations: { "traffic.istio.io/nodeSelector": '{"ingress":"yes"}' },
    },
    spec: { type: "NodePort", selector: { app: "eastwest" }, ports: [{ name: "tls", port: 15443, nodePort: 31443 }] },
  };
  const node = async (name: string, ingress: string, address: string) => {
    const { status, ...object } = kubeNode(name, { ingress }, address);
    await east.apply(manifests(object));
    const patch = ["patch", "node", name, "--subresource=status", "--type=merge"];
    await east.kubectl([...patch, "-p", JSON.stringify({ status })]);
  };
  await node("edge-1", "yes", "192.0.2.21");
  await node("edge-2", "no", "192.0.2.22");
  await east.apply(manifests(gateway));
  await until(() => expect(proxy.addresses()).toEqual(["10.1.0.1", "192.0.2.21"]), 30_000);
  const networks = (await (await server.get("/debug/networkz")).json()) as readonly object[];
  expect(JSON.stringify(networks)).toContain("31443");
  await east.kubectl(["label", "--overwrite", "node", "edge-2", "ingress=yes"]);
  await until(() => expect(proxy.addresses()).toEqual(["10.1.0.1", "192.0.2.21", "192.0.2.22"]), 30_000);
  await east.kubectl(["delete", "node", "edge-1", "edge-2"]);
  await until(() => expect(proxy.addresses()).toEqual(BOTH), 30_000);
  await east.kubectl(["-n", "istio-system", "delete", "service", "eastwest-nodes"]);
});

test("webhooks of a cluster that names the control plane's cluster get its CA bundle, by the rights of the chart's reader", async () => {
  const { own, east } = place();
  const values = ["reader.enabled=true", "reader.controlled=true", "base.enableCRDs=false", "defaultRevision="];
  await east.kubectl(["apply", "-f", "-"], await renderChart("base", "istio-base", values));
  const token = await east.token({ namespace: "istio-system", account: "istio-reader-service-account" });
  await own.apply(manifests(secret("remote-east", { east: east.kubeconfigFor({ token }) })));
  const [port = 0] = await freePorts(1);
  const host = "127.0.0.1";
  const any = { host, port: 0 };
  const ports = { http: any, grpc: any, secureGrpc: any, https: { host, port } };
  await using server = await start({}, { ports, webhooks: webhookSettings() });
  await until(async () => expect((await freshnessOf(server, "east"))?.state).toBe("synced"), 30_000);
  await east.apply(manifests(injector(port), validator(port)));
  const entries = async (kind: string, name: string) => {
    const printed = await east.kubectl(["get", kind, name, "-o", "json"]);
    const { webhooks } = JSON.parse(printed) as {
      webhooks: readonly { clientConfig: { caBundle?: string }; failurePolicy: string }[];
    };
    return webhooks.map(({ clientConfig, failurePolicy }) => [clientConfig.caBundle, failurePolicy]);
  };
  const injecting = () => entries("mutatingwebhookconfiguration", "istio-sidecar-injector");
  const validating = () => entries("validatingwebhookconfiguration", "istio-validator-istio-system");
  const annotate = (value: string) =>
    east.kubectl(["annotate", "--overwrite", "ns", "istio-system", `topology.istio.io/controlPlaneClusters=${value}`]);
  await annotate("own");
  const bundle = Buffer.from(server.discovery.rootPem).toString("base64");
  await until(async () => {
    expect(new Set((await injecting()).map(([caBundle]) => caBundle))).toEqual(new Set([bundle]));
    expect(await validating()).toEqual([[bundle, "Fail"]]);
  });
  // Not any more, once the cluster names another.
  await annotate("west");
  await until("the cluster is let go", () =>
    server.log.text().includes("cluster is not controlled from here any more"),
  );
  await east.delete(manifests(validator(port))[0] as Manifest);
  await east.apply(manifests(validator(port)));
  await own.apply(manifests(...web("10.1.0.1")));
  expect(await validating()).toEqual([[undefined, "Ignore"]]);
  await east.delete(manifests(injector(port))[0] as Manifest);
  await east.delete(manifests(validator(port))[0] as Manifest);
});
