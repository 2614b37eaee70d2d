import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { serviceEntry } from "../support/discovery/objects.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import { http2Cluster } from "../support/envoy/http2-cluster.ts";
import { type RunningEnvoy, runEnvoy } from "../support/envoy/run-envoy.ts";
import { needs } from "../support/needs.ts";
import { ADS_TYPES } from "../support/xds/following-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const service = (name: string, addresses: readonly string[]) =>
  JSON.stringify(serviceEntry(name, { endpoints: addresses.map((address) => ({ address })) }, "default"));

const socketAddress = (port: number) => ({ socket_address: { address: "127.0.0.1", port_value: port } });

function bootstrap(api: "GRPC" | "DELTA_GRPC", grpcPort: number) {
  return {
    node: {
      id: "sidecar~10.10.0.11~web-1.default~default.svc.cluster.local",
      cluster: "web",
      metadata: {
        NAMESPACE: "default",
        INSTANCE_IPS: "10.10.0.11",
        INTERCEPTION_MODE: "REDIRECT",
        CLUSTER_ID: "Kubernetes",
      },
    },
    dynamic_resources: {
      ads_config: {
        api_type: api,
        transport_api_version: "V3",
        grpc_services: [{ envoy_grpc: { cluster_name: "xds" } }],
      },
      cds_config: { ads: {}, resource_api_version: "V3" },
      lds_config: { ads: {}, resource_api_version: "V3" },
    },
    static_resources: {
      // Certificates come from the agent, which is not here: its cluster only has to be known.
      clusters: [
        http2Cluster("xds", socketAddress(grpcPort)),
        http2Cluster("sds-grpc", { pipe: { path: "/nonexistent/sds" } }),
      ],
    },
  };
}

async function startEnvoy(api: "GRPC" | "DELTA_GRPC", server: DiscoveryServer): Promise<RunningEnvoy> {
  return opened.add(await runEnvoy(bootstrap(api, server.ports.grpc)));
}

const slowly = { timeout: 45_000, interval: 50 };

/** Every type the proxy watches, with how far it is. */
async function states(server: DiscoveryServer): Promise<Record<string, string>> {
  const [proxy] = (await (await server.get("/debug/syncz")).json()) as {
    resources: Record<string, { status: string; lastError?: string }>;
  }[];
  const entries = Object.entries(proxy?.resources ?? {});
  return Object.fromEntries(entries.map(([type, { status, lastError }]) => [type, lastError ?? status]));
}

describe.each(["GRPC", "DELTA_GRPC"] as const)("stock Envoy over %s", (api) => {
  beforeEach(needs("envoy"));

  test("accepts everything, follows changes and outlives a restart of the server", async () => {
    const files = { "a.yaml": service("a", ["10.10.0.11", "10.0.0.1"]) };
    const server = opened.add(await startDiscoveryServer({ files, mesh: "enableAutoMtls: false\n" }));
    const envoy = await startEnvoy(api, server);
    const synced = Object.fromEntries(Object.values(ADS_TYPES).map((type) => [type, "SYNCED"]));
    await expect.poll(() => states(server), slowly).toEqual(synced);
    const clusters = () => envoy.admin("/clusters").catch(() => "");
    await expect.poll(clusters, slowly).toContain("outbound|80||a.example::10.0.0.1:8080::");

    server.write("a.yaml", service("a", ["10.10.0.11", "10.0.0.2"]));
    await expect.poll(clusters, slowly).toContain("outbound|80||a.example::10.0.0.2:8080::");
    server.write("b.yaml", service("b", ["10.0.0.3"]));
    await expect.poll(clusters, slowly).toContain("outbound|80||b.example::10.0.0.3:8080::");
    server.write("b.yaml", undefined);
    await expect.poll(clusters, slowly).not.toContain("b.example");

    await server.restart();
    await expect.poll(() => states(server), slowly).toMatchObject(synced);
    server.write("a.yaml", service("a", ["10.10.0.11", "10.0.0.4"]));
    await expect.poll(clusters, slowly).toContain("outbound|80||a.example::10.0.0.4:8080::");
    const stats = await envoy.admin("/stats?filter=update_rejected|warming_state&usedonly");
    expect(stats).not.toMatch(/update_rejected: [1-9]/);
    expect(await envoy.admin("/stats?filter=cluster_manager.warming_clusters")).toContain("warming_clusters: 0");
  }, 60_000);

  test("a rule that changes a cluster leaves no cluster waiting for its endpoints", async () => {
    const files = { "a.yaml": service("a", ["10.0.0.1"]) };
    const server = opened.add(await startDiscoveryServer({ files, mesh: "enableAutoMtls: false\n" }));
    const envoy = await startEnvoy(api, server);
    const clusters = () => envoy.admin("/clusters").catch(() => "");
    await expect.poll(clusters, slowly).toContain("outbound|80||a.example::10.0.0.1:8080::");
    const rule = {
      apiVersion: "networking.istio.io/v1",
      kind: "DestinationRule",
      metadata: { name: "a", namespace: "default" },
      spec: { host: "a.example", trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } } },
    };
    server.write("rule.yaml", JSON.stringify(rule));
    await expect.poll(clusters, slowly).toContain("outbound|80||a.example::default_priority::max_connections::7");
    expect(await clusters()).toContain("outbound|80||a.example::10.0.0.1:8080::");
  }, 60_000);
});
