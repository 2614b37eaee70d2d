import { expect, test } from "vitest";
import { HEALTH_TYPE } from "../../src/xds/type-urls.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { until } from "../support/wait/until.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const GROUP = {
  apiVersion: "networking.istio.io/v1",
  kind: "WorkloadGroup",
  metadata: { name: "vms", namespace: "prod" },
  spec: { metadata: { labels: { app: "shop" } }, template: { serviceAccount: "vm" } },
};
const ENTRY = {
  apiVersion: "networking.istio.io/v1",
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
const METADATA = {
  NAMESPACE: "prod",
  SERVICE_ACCOUNT: "vm",
  INSTANCE_IPS: "10.10.0.11",
  AUTO_REGISTER_GROUP: "vms",
  PROXY_CONFIG: { readinessProbe: { httpGet: { port: 80 } } },
};

test("a workload that connects is an endpoint, its reports are its health, and it is gone after its stream", async () => {
  await using server = await startDiscoveryServer({
    files: { "rules.yaml": `${JSON.stringify(GROUP)}\n---\n${JSON.stringify(ENTRY)}` },
    workloadEntries: { registers: true, takesHealth: true, validatesIdentity: true, graceMs: 50 },
  });
  const token = await server.discovery.issueToken({ namespace: "prod", name: "vm" }, 600);
  const endpoints = () => {
    const { snapshot } = server.discovery;
    const [service] = snapshot.services;
    return snapshot.endpoints(service?.key ?? "").map(({ addresses, health }) => `${addresses[0]} ${health}`);
  };
  expect(endpoints()).toEqual([]);
  const tls = { ca: server.discovery.rootPem };
  {
    await using stream = openSotw({ port: server.ports.secureGrpc, token, tls });
    stream.send({ node: testNode({ metadata: METADATA }), typeUrl: URLS.CDS });
    await until(() => expect(endpoints()).toEqual(["10.10.0.11 UnHealthy"]));
    stream.send({ typeUrl: HEALTH_TYPE });
    await until(() => expect(endpoints()).toEqual(["10.10.0.11 Unknown"]));
    stream.send({ typeUrl: HEALTH_TYPE, errorDetail: { code: 13, message: "connection refused" } });
    await until(() => expect(endpoints()).toEqual(["10.10.0.11 UnHealthy"]));
  }
  await until(() => expect(endpoints()).toEqual([]));
});

test("a workload without a proven identity is refused with the reason", async () => {
  await using server = await startDiscoveryServer({ files: { "rules.yaml": JSON.stringify(GROUP) } });
  await using stream = openSotw({ port: server.ports.grpc });
  stream.send({ node: testNode({ metadata: METADATA }), typeUrl: URLS.CDS });
  expect(await stream.ended).toMatchObject({
    code: "FAILED_PRECONDITION",
    message: "registration of a WorkloadEntry requires a verified identity",
  });
});
