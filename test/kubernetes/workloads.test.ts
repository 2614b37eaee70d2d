import { expect, test } from "vitest";
import { HEALTH_TYPE } from "../../src/xds/type-urls.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const API = "networking.istio.io/v1";
const GROUP = {
  apiVersion: API,
  kind: "WorkloadGroup",
  metadata: { name: "vms", namespace: "prod" },
  spec: { metadata: { labels: { app: "shop" } }, template: { serviceAccount: "vm" } },
};
const SERVICE = {
  apiVersion: API,
  kind: "ServiceEntry",
  metadata: { name: "shop", namespace: "prod" },
  spec: {
    hosts: ["shop.example"],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    workloadSelector: { labels: { app: "shop" } },
  },
};

const place = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await kubernetes.apply([namespace("prod"), namespace("istio-system")] as Manifest[]);
  await kubernetes.apply([
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "vm", namespace: "prod" } },
  ] as Manifest[]);
  await kubernetes.apply(ruleDefinitions(["WorkloadEntry", "WorkloadGroup", "ServiceEntry"]));
  await kubernetes.apply([GROUP, SERVICE] as Manifest[]);
  return kubernetes;
});

const start = (podName: string, graceMs: number) =>
  startDiscoveryServer({
    kubernetes: { kubeconfig: place().kubeconfig, environment: {} },
    podName,
    workloadEntries: { registers: true, takesHealth: true, validatesIdentity: true, graceMs },
  });

const connect = async ({ discovery, ports }: DiscoveryServer, ip: string) => {
  const token = await place().token({ namespace: "prod", account: "vm", audiences: ["istio-ca"] });
  const stream = openSotw({ port: ports.secureGrpc, token, tls: { ca: discovery.rootPem } });
  const metadata = {
    NAMESPACE: "prod",
    SERVICE_ACCOUNT: "vm",
    INSTANCE_IPS: ip,
    AUTO_REGISTER_GROUP: "vms",
    PROXY_CONFIG: { readinessProbe: { httpGet: { port: 80 } } },
  };
  stream.send({ node: testNode({ metadata }), typeUrl: URLS.CDS });
  await stream.next();
  return stream;
};

interface Entry {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly status?: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

const entryAt = async (ip: string): Promise<Entry | undefined> => {
  const { status, body } = await place().api.ask({ path: `/apis/${API}/namespaces/prod/workloadentries/vms-${ip}` });
  return status === 404 ? undefined : (JSON.parse(body) as Entry);
};
const controllerOf = async (ip: string) => (await entryAt(ip))?.metadata.annotations["istio.io/workloadController"];
const healthOf = async (ip: string) =>
  (await entryAt(ip))?.status?.conditions.find(({ type }) => type === "Healthy")?.status;
const endpointsOf = ({ discovery: { snapshot } }: DiscoveryServer, ip: string) =>
  snapshot.services.flatMap(({ key }) =>
    snapshot.endpoints(key).flatMap(({ addresses, health }) => (addresses[0] === ip ? [health] : [])),
  );

test("a workload that connects to one replica is in the cluster, with its health, and so an endpoint for all", async () => {
  const ip = "10.10.0.1";
  await using a = await start("a", 500);
  await using b = await start("b", 500);
  {
    await using stream = await connect(a, ip);
    await until(async () => expect(await controllerOf(ip)).toBe("a"));
    await until(() => expect(endpointsOf(b, ip)).toEqual(["UnHealthy"]));
    stream.send({ typeUrl: HEALTH_TYPE });
    await until(async () => expect(await healthOf(ip)).toBe("True"));
    await until(() => expect(endpointsOf(b, ip)).toEqual(["Unknown"]));
    stream.send({ typeUrl: HEALTH_TYPE, errorDetail: { code: 13, message: "connection refused" } });
    await until(async () => expect(await healthOf(ip)).toBe("False"));
    await until(() => expect(endpointsOf(b, ip)).toEqual(["UnHealthy"]));
  }
  await until(async () => expect(await entryAt(ip)).toBeUndefined());
  for (const server of [a, b]) await until(() => expect(endpointsOf(server, ip)).toEqual([]));
});

test("a workload that comes back to another replica is taken over, and its entry outlives the first one's grace period", async () => {
  const ip = "10.10.0.2";
  await using a = await start("a", 1000);
  await using b = await start("b", 1000);
  const first = await connect(a, ip);
  first.send({ typeUrl: HEALTH_TYPE });
  await until(async () => expect(await healthOf(ip)).toBe("True"));
  await first[Symbol.asyncDispose]();
  await using second = await connect(b, ip);
  await until(async () => expect(await controllerOf(ip)).toBe("b"));
  second.send({ typeUrl: HEALTH_TYPE, errorDetail: { code: 13, message: "down" } });
  await until(async () => expect(await healthOf(ip)).toBe("False"));
  await until("the first replica's time is over", () => a.log.text().includes("workload unregistered"));
  await until(() => expect(endpointsOf(a, ip)).toEqual(["UnHealthy"]));
  expect(await controllerOf(ip)).toBe("b");
  expect((await entryAt(ip))?.metadata.annotations["istio.io/disconnectedAt"]).toBeUndefined();
});

test("an entry that was left behind is cleaned up by the replica that has the lease, one that is deleted by hand stays so", async () => {
  const [ip, other] = ["10.10.0.3", "10.10.0.4"];
  const left = {
    apiVersion: API,
    kind: "WorkloadEntry",
    metadata: {
      name: `vms-${ip}`,
      namespace: "prod",
      annotations: {
        "istio.io/autoRegistrationGroup": "vms",
        "istio.io/workloadController": "gone",
        // Clocks of machines need not agree.
        "istio.io/disconnectedAt": new Date(Date.now() + 3_600_000).toISOString(),
      },
    },
    spec: { address: ip, labels: { app: "shop" } },
  };
  await place().apply([left] as Manifest[]);
  await using a = await start("a", 500);
  await using stream = await connect(a, other);
  await until(async () => expect(await controllerOf(other)).toBe("a"));
  await until(() => expect(endpointsOf(a, other)).toEqual(["UnHealthy"]));
  await until(async () => expect(await entryAt(ip)).toBeUndefined());
  await until(() => expect(endpointsOf(a, ip)).toEqual([]));
  await place().kubectl(["-n", "prod", "delete", "workloadentry", `vms-${other}`]);
  await until(() => expect(endpointsOf(a, other)).toEqual([]));
  expect(stream.responses.length).toBeGreaterThan(0);
});
