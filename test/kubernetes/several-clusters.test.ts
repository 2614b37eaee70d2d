import { expect, test } from "vitest";
import { decodeMessage } from "../../src/protobuf/envoy/index.ts";
import { kubePod, kubeService, kubeSlice } from "../support/discovery/kubernetes-objects.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { type Kubernetes, startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
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

const start = (remote: { readonly timeoutMs?: number; readonly staleMs?: number } = {}) =>
  startDiscoveryServer({
    clusterId: "own",
    kubernetes: {
      kubeconfig: place().own.kubeconfig,
      environment: {},
      remote: { timeoutMs: 30_000, staleMs: 0, allowedOptions: [], ...remote },
    },
  });

/** The endpoints of `web` as a proxy is sent them, newest last. */
function followWeb({ ports }: DiscoveryServer) {
  const stream = openSotw({ port: ports.grpc, library: "ours" });
  stream.send({ node: testNode(), typeUrl: URLS.EDS, resourceNames: ["outbound|80||web.prod.svc.cluster.local"] });
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
