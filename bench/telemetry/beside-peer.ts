import { CloseStack } from "../../src/base/close-stack.ts";
import { startPeer } from "../../test/conformance/control-planes/start-peer.ts";
import { createFabric, type Fabric } from "../../test/support/discovery/fabric.ts";
import { documents, hostOf, ruleObject, serviceEntry } from "../../test/support/discovery/rules.ts";
import { startDiscoveryServer } from "../../test/support/discovery/server.ts";
import { bundleWorkload, startWorkload, type WorkloadProcess } from "../../test/support/discovery/workload.ts";
import { http2Cluster } from "../../test/support/envoy/http2-cluster.ts";
import { type RunningEnvoy, runEnvoy } from "../../test/support/envoy/run-envoy.ts";
import { temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { startKubernetes } from "../../test/support/kubernetes/start-kubernetes.ts";
import { startFreezableProxy } from "../../test/support/net/freezable-proxy.ts";
import { istioIptables } from "../../test/support/netns/capture.ts";
import type { Netns } from "../../test/support/netns/netns.ts";
import { startAnySecrets } from "../../test/support/sds/any-secrets.ts";
import { until } from "../../test/support/wait/until.ts";
import { measureRound, type Round } from "./measure-round.ts";

/**
 * What the reference adds by default and a stock Envoy refuses, by the type of the configuration, and what keeps it out of the peer's:
 * `test/conformance/control-planes/start-peer.ts` sets it.
 */
const LEFT_OUT = [
  { type: "istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig", by: "PILOT_ENABLE_ALPN_FILTER=false" },
  { type: "envoy.tcp.metadataexchange.config.MetadataExchange", by: "PILOT_ENABLE_METADATA_EXCHANGE=false" },
  { type: "io.istio.http.peer_metadata.Config", by: "PILOT_ENABLE_METADATA_EXCHANGE=false" },
  { type: "stats.PluginConfig", by: "no metrics provider" },
] as const;

const VIP = "10.96.0.10";
const WORKLOADS = { client: "10.10.1.1", web: "10.10.2.1" } as const;
const COLLECTOR = "10.10.3.1";
/** All of them: the stand-in for SDS has one certificate. */
const ACCOUNT = "default";
const PROXY_USER = 1337;

const MESH = {
  extensionProviders: [{ name: "zipkin", zipkin: { service: hostOf("collector"), port: 9411 } }],
} as const;
const SERVICES = documents(
  serviceEntry({
    name: "web",
    vip: VIP,
    ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }],
    endpoints: [{ address: WORKLOADS.web, serviceAccount: ACCOUNT }],
  }),
  serviceEntry({
    name: "collector",
    vip: "10.96.0.20",
    ports: [{ number: 9411, name: "http-zipkin", protocol: "HTTP", targetPort: 9411 }],
    endpoints: [{ address: COLLECTOR }],
  }),
);
const WAYS = [
  { name: "telemetry off", rules: "# none\n", traces: false },
  {
    name: "traces at 1 %",
    rules: ruleObject("telemetry.istio.io/v1", "Telemetry", "bench", {
      tracing: [{ providers: [{ name: "zipkin" }], randomSamplingPercentage: 1 }],
    }),
    traces: true,
  },
] as const;

interface Side extends AsyncDisposable {
  readonly name: string;
  readonly client: WorkloadProcess;
  readonly envoys: readonly RunningEnvoy[];
  write(file: string, text: string): void;
}

export interface BesideOptions {
  /** With istiod's flags. */
  readonly program: string;
  readonly rounds: number;
  note(text: string): void;
}

/** Two stock Envoys each, with mutual TLS and captured traffic, configured by this control plane and by the other, in turn. */
export async function measureBesidePeer({ program, rounds, note }: BesideOptions) {
  for (const { type, by } of LEFT_OUT) note(`PEER without ${type}: ${by}`);
  await using opened = new CloseStack();
  const kubernetes = opened.add(await startKubernetes());
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } };
  await kubernetes.apply([namespace]);
  const peer = opened.add(await startPeer(program, kubernetes.kubeconfig, MESH));
  const server = opened.add(await startDiscoveryServer({ mesh: JSON.stringify(MESH) }));
  const sides = [
    opened.add(await startSide("ours", server.ports.grpc, server.write)),
    opened.add(await startSide("PEER", peer.address.port, peer.write)),
  ];
  const measured = WAYS.flatMap((way) =>
    sides.map((side) => ({ name: `${way.name}, ${side.name}`, way, side, rounds: [] as Round[] })),
  );
  const target = { address: VIP, port: 80, host: hostOf("web") };
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, way, side, rounds: results } of measured) {
      side.write("telemetry.yaml", way.rules);
      await until(`${name} is in force`, () => isInForce(side, way.traces), 60_000);
      results.push(
        await measureRound(
          side.client,
          target,
          side.envoys.map(({ pid }) => pid),
        ),
      );
      note(`${name}: ${JSON.stringify(results.at(-1))}`);
    }
  }
  return measured;
}

/** Nothing was refused either, and nothing of what should be left out is there. */
async function isInForce({ name, envoys }: Side, traces: boolean): Promise<string | undefined> {
  for (const envoy of envoys) {
    const [refused] = await envoy.rejections();
    if (refused !== undefined) throw new Error(`an Envoy of ${name} refused its configuration: ${refused}`);
    const listeners = await envoy.admin("/config_dump?resource=dynamic_listeners");
    const left = LEFT_OUT.find(({ type }) => listeners.includes(type));
    if (left !== undefined) throw new Error(`${name} has ${left.type}`);
    if (listeners.includes("ZipkinConfig") !== traces) return `an Envoy of ${name} has not heard of it`;
    // First those that wait: they make others drain, which close connections under requests when their time is over.
    for (const state of ["total_listeners_warming", "total_listeners_draining", "total_filter_chains_draining"]) {
      if ((await envoy.stat(state)) > 0) return `an Envoy of ${name} has ${state}`;
    }
  }
  return undefined;
}

async function startSide(name: string, port: number, write: Side["write"]): Promise<Side> {
  await using opened = new CloseStack();
  write("services.yaml", SERVICES);
  const folder = temporaryFolder({ isShared: true });
  opened.defer(() => folder[Symbol.dispose]());
  opened.add(await startAnySecrets(folder.file("sds")));
  opened.add(await startFreezableProxy(port, folder.file("xds")));
  const program = opened.add(await bundleWorkload());
  const fabric = opened.add(await createFabric("none"));
  const collector = opened.add(startWorkload(await fabric.attach(COLLECTOR), program));
  await collector.listen({ kind: "collector-http", port: 9411, name: "collector" });
  const start = async (workload: keyof typeof WORKLOADS) => {
    const netns = await captured(fabric, WORKLOADS[workload]);
    const sockets = { xds: folder.file("xds"), sds: folder.file("sds") };
    const user = { uid: PROXY_USER, gid: PROXY_USER };
    const process = opened.add(startWorkload(netns, program));
    const envoy = opened.add(await runEnvoy(sidecar(workload, sockets), { netns, user }));
    return { process, envoy };
  };
  const [client, web] = [await start("client"), await start("web")];
  await web.process.listen({ kind: "http", port: 8080, name: "web" });
  await until(`${name} configures its Envoys`, async () => {
    const [answer] = await client.process.http({ address: VIP, port: 80, host: hostOf("web"), fresh: true });
    return answer?.status === 200 ? undefined : `${answer?.status} ${answer?.error ?? answer?.body}`;
  });
  const handshakes = await web.envoy.stat("ssl.handshake");
  if (handshakes === 0) throw new Error(`calls of ${name} are not encrypted`);
  const owned = opened.move();
  const envoys = [client.envoy, web.envoy];
  return { name, client: client.process, envoys, write, [Symbol.asyncDispose]: () => owned.close() };
}

async function captured(fabric: Fabric, address: string): Promise<Netns> {
  const netns = await fabric.attach(address);
  const inbound = ["-p", "15001", "-z", "15006", "-u", String(PROXY_USER), "-m", "REDIRECT", "-i", "*", "-b", "*"];
  const { code, stderr, stdout } = await istioIptables(netns, inbound);
  if (code !== 0) throw new Error(`capture failed: ${stderr}${stdout}`);
  return netns;
}

function sidecar(workload: keyof typeof WORKLOADS, sockets: { readonly xds: string; readonly sds: string }): object {
  const ads = { ads: {}, initial_fetch_timeout: "0s", resource_api_version: "V3" };
  const address = WORKLOADS[workload];
  return {
    node: {
      id: `sidecar~${address}~${workload}.default~default.svc.cluster.local`,
      cluster: `${workload}.default`,
      metadata: {
        NAME: workload,
        NAMESPACE: "default",
        CLUSTER_ID: "Kubernetes",
        INSTANCE_IPS: address,
        INTERCEPTION_MODE: "REDIRECT",
        SERVICE_ACCOUNT: ACCOUNT,
        ISTIO_VERSION: "1.32.0",
        MESH_ID: "cluster.local",
        LABELS: { app: workload },
      },
    },
    dynamic_resources: {
      ads_config: {
        api_type: "DELTA_GRPC",
        transport_api_version: "V3",
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: "xds-grpc" } }],
      },
      cds_config: ads,
      lds_config: ads,
    },
    static_resources: {
      clusters: [
        http2Cluster("sds-grpc", { pipe: { path: sockets.sds } }),
        http2Cluster("xds-grpc", { pipe: { path: sockets.xds } }),
      ],
    },
  };
}
