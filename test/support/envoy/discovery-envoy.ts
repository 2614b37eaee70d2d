import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLogger } from "../../../src/base/logger.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { Secret } from "../../../src/base/secret.ts";
import { declareSdsMetrics } from "../../../src/sds/metrics.ts";
import type { SecretSource } from "../../../src/sds/secret-source.ts";
import { startSdsServer } from "../../../src/sds/start-sds-server.ts";
import { createTestCa } from "../certs/sds-certificates.ts";
import type { WorkloadProcess } from "../discovery/workload.ts";
import { envoyPath } from "../needs.ts";
import type { Netns } from "../netns/netns.ts";
import { until } from "../wait/until.ts";
import { http2Cluster } from "./http2-cluster.ts";

const ADMIN_PORT = 19_000;

/** A stock Envoy that asks a control plane for everything, without an agent between them. */
export interface DiscoveryEnvoy extends AsyncDisposable {
  admin(path: string): Promise<string>;
  /** Names of the clusters and listeners in use: their endpoints, routes and secrets have arrived. */
  names(): Promise<{ readonly clusters: readonly string[]; readonly listeners: readonly string[] }>;
  /** Rejected updates by the counter's name. */
  rejections(): Promise<readonly string[]>;
  output(): string;
}

interface DumpEntry {
  readonly name?: string;
  readonly cluster?: { readonly name: string };
  readonly active_state?: object;
}

export interface DiscoveryEnvoyOptions {
  readonly netns: Netns;
  /** A client in the same namespace. */
  readonly probe: WorkloadProcess;
  /** For its files. */
  readonly folder: string;
  readonly sdsPath: string;
  readonly xdsPort: number;
  readonly node: object;
  readonly protocol: "sotw" | "delta";
}

export async function startDiscoveryEnvoy(options: DiscoveryEnvoyOptions): Promise<DiscoveryEnvoy> {
  const { netns, probe, folder } = options;
  const file = join(folder, "envoy.json");
  writeFileSync(file, JSON.stringify(bootstrap(options)));
  const args = ["-c", file, "--concurrency", "1", "--disable-hot-restart", "-l", "warning", "--drain-time-s", "1"];
  // Into a file, as access logs open /dev/stdout again, which nobody can do with the socket that Node makes of a pipe.
  const output = join(folder, "envoy.log");
  const child = netns.spawn("sh", ["-c", 'exec "$@" >"$0" 2>&1', output, envoyPath() ?? "envoy", ...args]);
  const exited = once(child, "exit");
  const admin = async (path: string) => {
    const call = { address: "127.0.0.1", port: ADMIN_PORT, host: "localhost", path, fresh: true };
    const [answer] = await probe.http(call);
    if (answer?.status !== 200) throw Object.assign(new Error(`${path}: ${answer?.error}`), { code: "no-answer" });
    return answer.body;
  };
  const dump = async (resource: string) =>
    (JSON.parse(await admin(`/config_dump?resource=${resource}`)) as { configs?: readonly DumpEntry[] }).configs ?? [];
  const close = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  try {
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`Envoy ended: ${readFileSync(output, "utf8")}`);
      await admin("/server_info");
      return undefined;
    }, 20_000);
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return {
    admin,
    names: async () => {
      const clusters = await dump("dynamic_active_clusters");
      const listeners = await dump("dynamic_listeners");
      return {
        clusters: clusters.map(({ cluster }) => cluster?.name ?? ""),
        listeners: listeners.filter(({ active_state }) => active_state !== undefined).map(({ name = "" }) => name),
      };
    },
    rejections: async () =>
      (await admin("/stats?filter=update_rejected")).split("\n").filter((line) => /: [1-9]/.test(line)),
    output: () => readFileSync(output, "utf8"),
    [Symbol.asyncDispose]: close,
  };
}

function bootstrap({ node, sdsPath, xdsPort, protocol }: DiscoveryEnvoyOptions): object {
  return {
    node,
    admin: { address: { socket_address: { address: "127.0.0.1", port_value: ADMIN_PORT } } },
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
