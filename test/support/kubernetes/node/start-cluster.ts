import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CloseStack } from "../../../../src/base/close-stack.ts";
import { toHandle } from "../../../../src/base/handle.ts";
import { freePorts } from "../../net/free-ports.ts";
import { bundleProgram } from "../../process/bundle-program.ts";
import { until } from "../../wait/until.ts";
import { programPath } from "../binaries.ts";
import { type ClusterFiles, writeClusterFiles } from "../cluster-files.ts";
import { type ServerProcess, startServerProcess } from "../server-process.ts";
import { type Kubernetes, startKubernetes } from "../start-kubernetes.ts";
import { importImage, runCtr } from "./import-image.ts";
import { NETWORK, NODE_NAME } from "./network.ts";
import { nodeFiles, type ServiceMode } from "./node-files.ts";
import { buildPauseImage } from "./pause-image.ts";
import { startWorld } from "./start-world.ts";

export interface ClusterOptions {
  /** State, certificates, images and logs; a temporary folder, deleted at the stop, when absent. */
  readonly folder?: string;
  /** How service addresses are translated. */
  readonly serviceMode?: ServiceMode;
  /** Goes on after the process that started it; `processes` are what ends it then. */
  readonly isDetached?: boolean;
}

/** A whole cluster: API server, controllers, scheduler, and one node that runs pods. This machine reaches pods and services by address. */
export interface Cluster extends Kubernetes {
  readonly processes: readonly ServerProcess[];
  /** Takes an archive as `docker save` and `npm run image` write it. */
  importImage(archive: string): Promise<void>;
  /** Ends the kubelet with SIGKILL and starts it again. */
  restartKubelet(): Promise<void>;
}

const READY_MS = 180_000;

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  await using opened = new CloseStack();
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "pilot-agent-cluster-"));
  opened.defer(() => {
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  });
  const isDetached = options.isDetached ?? false;
  const world = await startWorld(folder, isDetached);
  opened.defer(() => world.stop());
  const [port = 0] = await freePorts(1);
  const files = await writeClusterFiles(folder, port, NETWORK.host);
  await issueCertificates(files);
  writeAll(files, nodeFiles(files, options.serviceMode ?? "iptables"));

  const kubernetes = opened.add(await startKubernetes({ files, apiServerFlags: apiServerFlags(files), isDetached }));
  const start = (name: string, [program = "", ...args]: readonly string[]) =>
    startServerProcess({ name, program, args, logFile: files.file(`${name}.log`), isDetached });
  const run = (name: string, words: readonly string[]) => {
    const started = start(name, words);
    opened.defer(() => started.kill());
    return started;
  };
  // The parent is outside the node's process namespace: what it runs inside ends with it.
  const inside = (...words: readonly string[]) => [...world.enter, "setpriv", "--pdeathsig", "KILL", "--", ...words];
  await bundleProgram("test/support/kubernetes/node/cluster-dns.ts", { outfile: files.file("cluster-dns.mjs") });
  const processes = [
    run("kube-controller-manager", controllerManager(files)),
    run("kube-scheduler", scheduler(files)),
    run("containerd", inside("containerd", "--config", files.file("containerd.toml"))),
    run("cluster-dns", inside(process.execPath, files.file("cluster-dns.mjs"), NETWORK.node, folder)),
    run("kube-proxy", inside(programPath("kube-proxy"), `--config=${files.file("kube-proxy.yaml")}`)),
  ];
  const socket = files.file("containerd.sock");
  await until("containerd answers", async () => (await runCtr(socket, ["version"])).code === 0, READY_MS);
  await importImage(socket, await buildPauseImage(files.file("pause")));
  const startKubelet = () => start("kubelet", inside(...kubelet(files)));
  let running = startKubelet();
  opened.defer(() => running.kill());
  const untilNodeReady = () =>
    until(
      "the node is ready",
      async () => isNodeReady(await kubernetes.api.ask({ path: `/api/v1/nodes/${NODE_NAME}` })),
      READY_MS,
    );
  await untilNodeReady();
  await until("the default account is there", async () => {
    const path = "/api/v1/namespaces/default/serviceaccounts/default";
    return (await kubernetes.api.ask({ path })).status === 200;
  });

  const owned = opened.move();
  return toHandle({
    ...kubernetes,
    get pids() {
      return kubernetes.pids;
    },
    get processes() {
      return [world.holder, running, ...processes];
    },
    importImage: (archive: string) => importImage(socket, archive),
    async restartKubelet() {
      await running.kill();
      running = startKubelet();
      await untilNodeReady();
    },
    stop: () => owned.close(),
  });
}

function isNodeReady({ status, body }: { readonly status: number; readonly body: string }): boolean | string {
  if (status !== 200) return body;
  const node = JSON.parse(body) as {
    spec?: { taints?: { key: string }[] };
    status?: { conditions?: { type: string; status: string; message: string }[] };
  };
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") return ready?.message ?? "no conditions yet";
  const taints = (node.spec?.taints ?? []).map(({ key }) => key);
  return taints.length === 0 || `taints: ${taints.join(", ")}`;
}

function writeAll(files: ClusterFiles, contents: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(contents)) {
    mkdirSync(dirname(files.file(name)), { recursive: true });
    writeFileSync(files.file(name), text);
  }
}

async function issueCertificates(files: ClusterFiles): Promise<void> {
  const node = { organization: "system:nodes", commonName: `system:node:${NODE_NAME}` };
  await Promise.all([
    files.issue("kube-controller-manager", { commonName: "system:kube-controller-manager" }),
    files.issue("kube-scheduler", { commonName: "system:kube-scheduler" }),
    files.issue("kube-proxy", { commonName: "system:kube-proxy" }),
    files.issue("kubelet", node),
    files.issue("kubelet-server", { ...node, hosts: [NODE_NAME, NETWORK.node] }),
    files.issue("kubelet-client", { organization: "system:masters", commonName: "kube-apiserver-kubelet-client" }),
  ]);
}

function apiServerFlags({ file }: ClusterFiles): string[] {
  return [
    `--kubelet-client-certificate=${file("kubelet-client.crt")}`,
    `--kubelet-client-key=${file("kubelet-client.key")}`,
    "--kubelet-preferred-address-types=InternalIP",
    "--enable-admission-plugins=NodeRestriction",
  ];
}

function controllerManager({ file }: ClusterFiles): string[] {
  const kubeconfig = file("kube-controller-manager.kubeconfig");
  return [
    programPath("kube-controller-manager"),
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--bind-address=127.0.0.1",
    "--secure-port=0",
    "--leader-elect=false",
    "--use-service-account-credentials=true",
    `--root-ca-file=${file("ca.crt")}`,
    `--service-account-private-key-file=${file("accounts.key")}`,
    `--cluster-cidr=${NETWORK.pods}`,
    `--service-cluster-ip-range=${NETWORK.services}`,
  ];
}

function scheduler({ file }: ClusterFiles): string[] {
  const kubeconfig = file("kube-scheduler.kubeconfig");
  return [
    programPath("kube-scheduler"),
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    "--bind-address=127.0.0.1",
    "--secure-port=0",
    "--leader-elect=false",
  ];
}

function kubelet({ file }: ClusterFiles): string[] {
  return [
    programPath("kubelet"),
    `--config=${file("kubelet.yaml")}`,
    `--kubeconfig=${file("kubelet.kubeconfig")}`,
    `--root-dir=${file("kubelet")}`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${NETWORK.node}`,
    `--cert-dir=${file("kubelet/pki")}`,
  ];
}
