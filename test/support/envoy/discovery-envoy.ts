import { silentLogger } from "../../../src/base/logger.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { Secret } from "../../../src/base/secret.ts";
import { declareSdsMetrics } from "../../../src/sds/metrics.ts";
import type { SecretSource } from "../../../src/sds/secret-source.ts";
import { startSdsServer } from "../../../src/sds/start-sds-server.ts";
import { createTestCa } from "../certs/test-ca.ts";
import type { Netns } from "../netns/netns.ts";
import { http2Cluster } from "./http2-cluster.ts";
import { type RunningEnvoy, runEnvoy } from "./run-envoy.ts";

/** A stock Envoy that asks a control plane for everything, without an agent between them. */
export interface DiscoveryEnvoy extends RunningEnvoy {
  /** Names of the clusters and listeners in use: their endpoints, routes and secrets have arrived. */
  names(): Promise<{ readonly clusters: readonly string[]; readonly listeners: readonly string[] }>;
  /** Rejected updates by the counter's name. */
  rejections(): Promise<readonly string[]>;
}

interface DumpEntry {
  readonly name?: string;
  readonly cluster?: { readonly name: string };
  readonly active_state?: object;
}

export interface DiscoveryEnvoyOptions {
  readonly netns: Netns;
  readonly sdsPath: string;
  readonly xdsPort: number;
  readonly node: object;
  readonly protocol: "sotw" | "delta";
}

export async function startDiscoveryEnvoy(options: DiscoveryEnvoyOptions): Promise<DiscoveryEnvoy> {
  const envoy = await runEnvoy(bootstrap(options), { netns: options.netns });
  const dump = async (resource: string) => {
    const text = await envoy.admin(`/config_dump?resource=${resource}`);
    return (JSON.parse(text) as { configs?: readonly DumpEntry[] }).configs ?? [];
  };
  return {
    ...envoy,
    names: async () => {
      const clusters = await dump("dynamic_active_clusters");
      const listeners = await dump("dynamic_listeners");
      return {
        clusters: clusters.map(({ cluster }) => cluster?.name ?? ""),
        listeners: listeners.filter(({ active_state }) => active_state !== undefined).map(({ name = "" }) => name),
      };
    },
    rejections: async () =>
      (await envoy.admin("/stats?filter=update_rejected")).split("\n").filter((line) => /: [1-9]/.test(line)),
  };
}

function bootstrap({ node, sdsPath, xdsPort, protocol }: DiscoveryEnvoyOptions): object {
  return {
    node,
    dynamic_resources: {
      ads_config: {
        api_type: protocol === "sotw" ? "GRPC" : "DELTA_GRPC",
        transport_api_version: "V3",
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: "xds-grpc" } }],
      },
      cds_config: { ads: {}, initial_fetch_timeout: "0s", resource_api_version: "V3" },
      lds_config: { ads: {}, initial_fetch_timeout: "0s", resource_api_version: "V3" },
    },
    static_resources: {
      clusters: [
        http2Cluster("xds-grpc", { socket_address: { address: "127.0.0.1", port_value: xdsPort } }),
        http2Cluster("sds-grpc", { pipe: { path: sdsPath } }),
      ],
    },
  };
}

/** A stand-in for the agent's SDS that has a secret of every name. */
export async function startAnySecrets(path: string) {
  const ca = await createTestCa();
  const { cert, key } = await ca.pair(["spiffe://cluster.local/ns/default/sa/default"]);
  const isRoot = (name: string) => name === "ROOTCA" || name.startsWith("file-root:");
  const source: SecretSource = {
    get: async (name) =>
      isRoot(name)
        ? { kind: "trust-bundle", name, version: "1", roots: Buffer.from(ca.rootPem), crlPath: undefined }
        : {
            kind: "key-pair",
            name,
            version: "1",
            certificateChain: Buffer.from(cert),
            privateKey: new Secret(Buffer.from(key)),
          },
    onChange: () => () => undefined,
  };
  const metrics = declareSdsMetrics(new MetricRegistry());
  return startSdsServer({ path, source, metrics, log: silentLogger });
}
