import { readFileSync } from "node:fs";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { type AgentProcess, startAgentProcess } from "../agent/agent-process.ts";
import { istioIptables } from "../netns/capture.ts";
import type { Netns } from "../netns/netns.ts";
import { until } from "../wait/until.ts";
import { createFabric, type Fabric } from "./fabric.ts";
import { type DiscoveryProcess, startDiscoveryProcess } from "./process.ts";
import { bundleWorkload, type HttpResult, startWorkload, type WorkloadProcess } from "./workload.ts";

const ISTIOD = "istiod.istio-system.svc";
/** Without a host: on every address of the namespace, and plaintext xDS on its loopback. */
const PORTS = { host: "", http: 8080, grpc: 15010, secureGrpc: 15012, monitoring: 15014 };
const PROXY_USER = "1337";

export interface WorkloadOptions {
  readonly name: string;
  readonly address: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** False: only applications and a client, no agent and no capture. */
  readonly hasSidecar?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** A gateway: an agent and Envoy without capture. */
  readonly isRouter?: boolean;
  /** A gRPC program that speaks xDS itself: an agent without Envoy and without capture. It meets the agent in `xdsFolder`. */
  readonly xdsFolder?: string;
  /** Beside the agent's own, by path in its folder. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A workload of the mesh in its own network namespace. */
export interface MeshWorkload extends WorkloadProcess {
  readonly name: string;
  readonly address: string;
  readonly netns: Netns;
  readonly agent: AgentProcess | undefined;
  /** A page of Envoy's admin port. */
  admin(path: string): Promise<string>;
  /** Rejected configurations of Envoy so far, by the name of the counter. */
  rejections(): Promise<readonly string[]>;
}

export interface DiscoveryMesh extends AsyncDisposable {
  readonly controlPlane: DiscoveryProcess;
  workload(name: string): MeshWorkload;
  add(options: WorkloadOptions): Promise<MeshWorkload>;
  /** A page of the control plane's debug port. */
  debug(path: string): Promise<string>;
  /** What proxies refused of all types, as the control plane counted it since its start. */
  rejections(): Promise<readonly string[]>;
}

export interface MeshOptions {
  readonly files: Readonly<Record<string, string>>;
  readonly mesh?: string;
  readonly networks?: string;
  readonly workloads: readonly WorkloadOptions[];
  /** Names that resolve, as lines of /etc/hosts. */
  readonly names?: string;
}

/** The built control plane and real sidecars (agent, stock Envoy, captured traffic), each in a namespace of its own. */
export async function startDiscoveryMesh(options: MeshOptions): Promise<DiscoveryMesh> {
  await using opened = new CloseStack();
  const program = opened.add(await bundleWorkload());
  const fabric = opened.add(await createFabric(ISTIOD, options.names));
  const probe = opened.add(startWorkload(fabric.netns, program));
  const get = async (port: number, path: string) => {
    const [answer] = await probe.http({ address: "127.0.0.1", port, host: "localhost", path, fresh: true });
    return answer ?? NO_ANSWER;
  };
  const controlPlane = opened.add(
    await startDiscoveryProcess({
      ports: PORTS,
      files: options.files,
      ...(options.mesh !== undefined && { mesh: options.mesh }),
      ...(options.networks !== undefined && { networks: options.networks }),
      wrapper: ["ip", "netns", "exec", fabric.netns.name],
      isReady: async () => (await get(PORTS.http, "/ready")).status === 200,
    }),
  );
  const workloads = new Map<string, MeshWorkload>();
  const addTo = async (owner: CloseStack, workload: WorkloadOptions) => {
    const started = owner.add(await startMeshWorkload(fabric, program, controlPlane, workload));
    workloads.set(workload.name, started);
    return started;
  };
  await Promise.all(options.workloads.map((workload) => addTo(opened, workload)));
  const owned = opened.move();
  return {
    controlPlane,
    add: (workload) => addTo(owned, workload),
    workload(name) {
      const found = workloads.get(name);
      if (found === undefined) throw new Error(`no workload ${name}`);
      return found;
    },
    debug: async (path) => (await get(PORTS.monitoring, path)).body,
    rejections: async () =>
      (await get(PORTS.monitoring, "/metrics")).body
        .split("\n")
        .filter((line) => /^pilot_(total_xds_rejects|xds_\w+_reject)\b.* [1-9]/.test(line)),
    [Symbol.asyncDispose]: () => owned.close(),
  };
}

const NO_ANSWER: HttpResult = { status: 0, headers: {}, body: "", ms: 0 };

async function startMeshWorkload(
  fabric: Fabric,
  program: Parameters<typeof startWorkload>[1],
  controlPlane: DiscoveryProcess,
  options: WorkloadOptions,
): Promise<MeshWorkload> {
  await using opened = new CloseStack();
  const netns = await fabric.attach(options.address);
  const process = opened.add(startWorkload(netns, program));
  const hasSidecar = options.hasSidecar !== false;
  // First, as in a pod: connections that are older than the rules would be torn by them.
  if (hasSidecar && options.isRouter !== true && options.xdsFolder === undefined) await capture(netns);
  const agent = hasSidecar ? opened.add(await startSidecar(netns.name, process, controlPlane, options)) : undefined;
  const owned = opened.move();
  const admin = async (path: string) => {
    const call = { address: "127.0.0.1", port: 15000, host: "localhost", path, fresh: true };
    const [answer] = await process.http(call);
    if (answer?.status !== 200) {
      const text = `Envoy answers ${answer?.status} ${answer?.error} to ${path}`;
      throw Object.assign(new Error(text), { code: "unexpected-status" });
    }
    return answer.body;
  };
  return {
    ...process,
    name: options.name,
    address: options.address,
    netns,
    agent,
    admin,
    rejections: async () =>
      (await admin("/stats?filter=update_rejected")).split("\n").filter((line) => /: [1-9]/.test(line)),
    [Symbol.asyncDispose]: () => owned.close(),
  };
}

async function capture(netns: Netns): Promise<void> {
  const { code, stderr, stdout } = await istioIptables(netns, [
    ...["-p", "15001", "-z", "15006", "-u", PROXY_USER, "-m", "REDIRECT", "-i", "*", "-b", "*"],
    ...["-d", "15000,15020,15021,15090"],
  ]);
  if (code !== 0) throw new Error(`capture failed: ${stderr}${stdout}`);
}

const withoutEnvoy = (folder: string) => ({
  DISABLE_ENVOY: "true",
  ISTIO_META_GENERATOR: "grpc",
  ISTIO_META_INTERCEPTION_MODE: "NONE",
  OUTPUT_CERTS: folder,
  GRPC_XDS_BOOTSTRAP: `${folder}/grpc-bootstrap.json`,
});

async function startSidecar(
  netns: string,
  process: WorkloadProcess,
  controlPlane: DiscoveryProcess,
  { name, address, labels = {}, env, isRouter = false, files, xdsFolder }: WorkloadOptions,
): Promise<AgentProcess> {
  const agent = await startAgentProcess({
    name,
    node: isRouter ? "router" : "sidecar",
    // As in a pod: the agent and its Envoy run as the user whose traffic is not captured.
    wrapper: [
      ...["sh", "-c", `chown -R ${PROXY_USER}:${PROXY_USER} . && exec "$@"`, "sh", "ip", "netns", "exec", netns],
      ...["setpriv", `--reuid=${PROXY_USER}`, `--regid=${PROXY_USER}`, "--clear-groups"],
    ],
    files: {
      "var/run/secrets/istio/root-cert.pem": readFileSync(controlPlane.rootFile, "utf8"),
      "var/run/secrets/tokens/istio-token": await controlPlane.token("default", name),
      ...files,
    },
    proxyConfig: {
      proxyAdminPort: 15000,
      statusPort: 15020,
      concurrency: 1,
      discoveryAddress: `${ISTIOD}:${PORTS.secureGrpc}`,
      ...(xdsFolder !== undefined && { configPath: xdsFolder }),
    },
    env: {
      POD_NAMESPACE: "default",
      INSTANCE_IP: address,
      ENVOY_STATUS_PORT: "15021",
      ENVOY_PROMETHEUS_PORT: "15090",
      ISTIO_META_CLUSTER_ID: "Kubernetes",
      ISTIO_META_INTERCEPTION_MODE: "REDIRECT",
      ISTIO_METAJSON_LABELS: JSON.stringify(labels),
      OUTPUT_CERTS: "out",
      ...(xdsFolder !== undefined && withoutEnvoy(xdsFolder)),
      ...env,
    },
  });
  try {
    await until(async () => {
      if (agent.child.exitCode !== null) throw new Error(`the agent of ${name} ended: ${agent.stdout().slice(-3000)}`);
      const [answer] = await process.http({
        address: "127.0.0.1",
        port: 15020,
        host: "localhost",
        path: "/healthz/ready",
        fresh: true,
      });
      return answer?.status === 200
        ? undefined
        : `${name}: ${answer?.body}${answer?.error ?? ""} ${agent.stdout().slice(-1500)}`;
    }, 45_000);
  } catch (thrown) {
    await agent[Symbol.asyncDispose]();
    throw thrown;
  }
  return agent;
}
