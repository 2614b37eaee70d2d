import { thisArchitecture } from "../../../image/architecture.ts";
import { buildImage } from "../../../image/build-image.ts";
import type { CloseStack } from "../../../src/base/close-stack.ts";
import { RELEASES, renderChart, NAMESPACE as SYSTEM } from "../deploy/render-chart.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import type { Manifest } from "../kubernetes/apply-objects.ts";
import { type Cluster, startCluster } from "../kubernetes/node/start-cluster.ts";
import { envoyPath } from "../needs.ts";
import { fetchAnswer } from "../net/fetch-answer.ts";
import { appDeployment, appObjects, NAMESPACE, namespaceObject } from "./apps.ts";

/** For a busy machine: each pod starts Node and Envoy. */
export const SETTLE_MS = 120_000;
export const IMAGE = "localhost/pilot-agent:test";

/** What an application answered when it was asked by another. */
export interface Reply {
  /** 0 when there was none. */
  readonly status: number;
  readonly body: string;
}

export interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly spec: {
    readonly containers: readonly PodContainer[];
    readonly initContainers?: readonly PodContainer[];
  };
  readonly status: {
    readonly podIP: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly ContainerStatus[];
    /** Native sidecars are here. */
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

interface ContainerStatus {
  readonly name: string;
  readonly restartCount: number;
}

interface PodContainer {
  readonly name: string;
  readonly args?: readonly string[];
  readonly readinessProbe?: { readonly httpGet?: { readonly path: string; readonly port: number } };
}

/** A cluster with the mesh installed as docs say, and three plain Deployments in a labelled namespace. */
export interface MeshCluster extends Cluster {
  /** Those that are not on their way out, oldest first. */
  pods(selector: string, namespace?: string): Promise<Pod[]>;
  /** Those too. */
  allPods(selector: string, namespace?: string): Promise<Pod[]>;
  serviceAddress(namespace: string, name: string): Promise<string>;
  /** The one pod that matches. */
  pod(selector: string): Promise<Pod>;
  /** Resolves when all Deployments of the namespace have the wanted pods, and no others. */
  untilRolledOut(...deployments: readonly string[]): Promise<void>;
  /** An application asks a URL, from its pod. */
  call(from: string, url: string, namespace?: string): Promise<Reply>;
  callFrom(pod: Pod, url: string): Promise<Reply>;
  /** Resolves when its pods are gone too. */
  deleteAndWait(deployment: Manifest): Promise<void>;
  /** `kubectl exec` in the proxy's container. */
  inProxy(pod: string, ...words: readonly string[]): Promise<string>;
}

const ROLLOUT = "240s";
/** More than the application waits itself. */
const CALL_MS = 30_000;

export async function startMeshCluster(opened: CloseStack): Promise<MeshCluster> {
  const folder = temporaryFolder();
  opened.defer(() => folder[Symbol.dispose]());
  const [{ archive }, cluster] = await Promise.all([
    buildImage({
      output: folder.file("image"),
      names: [IMAGE],
      architectures: [thisArchitecture() ?? "amd64"],
      envoy: envoyPath(),
      withoutCodeCache: false,
      epochSeconds: 0,
    }),
    startCluster().then((started) => opened.add(started)),
  ]);
  await cluster.importImage(archive);
  await install(cluster);
  const applications = [
    ...appObjects("web"),
    ...appObjects("api"),
    appDeployment({ name: "web", image: IMAGE }),
    appDeployment({ name: "api-v1", app: "api", image: IMAGE }),
    appDeployment({ name: "api-v2", app: "api", version: "v2", image: IMAGE }),
  ];
  await cluster.apply([namespaceObject(NAMESPACE, { "istio-injection": "enabled" }), ...applications]);
  return Object.assign(cluster, meshMembers(cluster));
}

/** As a user would: charts, with values for a small machine and an image that no registry has. */
async function install(cluster: Cluster): Promise<void> {
  const small = "resources.requests.cpu=10m,resources.requests.memory=64Mi";
  const values = {
    base: [],
    istiod: ["global.tag=test", "global.proxy.resources.requests.cpu=10m", small],
    gateway: ["autoscaling.enabled=false", small],
  };
  await cluster.apply([namespaceObject(SYSTEM)]);
  for (const [chart, release] of RELEASES) {
    const text = await renderChart(chart, release, values[chart]);
    await cluster.kubectl(["apply", "--server-side", "-f", "-"], text);
    if (chart === "istiod") await rolledOut(cluster, SYSTEM, "istiod");
  }
}

async function rolledOut(cluster: Cluster, namespace: string, ...deployments: readonly string[]): Promise<void> {
  for (const name of deployments)
    await cluster.kubectl(["-n", namespace, "rollout", "status", `deployment/${name}`, `--timeout=${ROLLOUT}`]);
}

function meshMembers(cluster: Cluster) {
  const allPods = async (selector: string, namespace = NAMESPACE) => {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`;
    return ((await cluster.api.json({ path })) as unknown as { items: Pod[] }).items;
  };
  const pods = async (selector: string, namespace?: string) =>
    (await allPods(selector, namespace)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const callFrom = async ({ status }: Pod, url: string) => {
    const answer = await fetchAnswer(`http://${status.podIP}:8080/call?url=${encodeURIComponent(url)}`, "GET", CALL_MS);
    if (answer.status !== 200) return answer;
    return JSON.parse(answer.body) as Reply;
  };
  return {
    pods,
    allPods,
    async serviceAddress(namespace: string, name: string) {
      const path = `/api/v1/namespaces/${namespace}/services/${name}`;
      return ((await cluster.api.json({ path })) as unknown as { spec: { clusterIP: string } }).spec.clusterIP;
    },
    async untilRolledOut(...deployments: readonly string[]) {
      await rolledOut(cluster, NAMESPACE, ...deployments);
    },
    async call(from: string, url: string, namespace = NAMESPACE) {
      const [pod] = await pods(`app=${from}`, namespace);
      if (pod === undefined) throw new Error(`no pod of ${from} in ${namespace}`);
      return callFrom(pod, url);
    },
    callFrom,
    async pod(selector: string) {
      const [pod, ...others] = await pods(selector);
      if (pod === undefined || others.length > 0)
        throw new Error(`${selector}: ${pod === undefined ? "no pod" : `${others.length + 1} pods`}, expected one`);
      return pod;
    },
    async deleteAndWait({ metadata: { name } }: Manifest) {
      const words = ["-n", NAMESPACE, "delete", "deployment", name, "--cascade=foreground", `--timeout=${ROLLOUT}`];
      await cluster.kubectl(words);
    },
    inProxy: (pod: string, ...words: readonly string[]) =>
      cluster.kubectl(["-n", NAMESPACE, "exec", pod, "-c", "istio-proxy", "--", ...words]),
  };
}
