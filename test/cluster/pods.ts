import { expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands/list.ts";
import { runWords } from "../support/cli/run-words.ts";
import { appDeployment, NAMESPACE } from "../support/cluster/apps.ts";
import { IMAGE, type MeshCluster, type Pod, SETTLE_MS } from "../support/cluster/start-mesh-cluster.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { fetchAnswer, fetchOk } from "../support/net/fetch-answer.ts";
import { until } from "../support/wait/until.ts";

const CALLER = `URI=spiffe://cluster.local/ns/${NAMESPACE}/sa/web`;
const containers = ({ spec }: Pod) => spec.containers.map(({ name }) => name);
const initContainers = ({ spec }: Pod) => (spec.initContainers ?? []).map(({ name }) => name);

/** What becomes of a Deployment that knows nothing of the mesh. */
export function testPods(place: () => MeshCluster): void {
  test("plain Deployments get an init container that captures and a native sidecar, and become ready", async () => {
    for (const app of ["web", "api"]) {
      for (const pod of await place().pods(`app=${app}`)) {
        expect(containers(pod)).toEqual(["app"]);
        expect(initContainers(pod)).toEqual(["istio-init", "istio-proxy"]);
      }
    }
  });

  test("kube-inject by the webhook, which the API server leads to, prints the pod that a created one becomes", async () => {
    const cluster = place();
    using folder = temporaryFolder();
    const plain = appDeployment({ name: "printed", app: "web", version: "printed", image: IMAGE });
    const words = ["kube-inject", "-f", folder.write("in.yaml", JSON.stringify(plain)), "--kubeconfig"];
    const ran = await runWords({ words: [...words, cluster.kubeconfig], commands: COMMANDS, env: {} });
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" });
    const [printed] = ran.stdout.split(/^---$/m);
    await cluster.kubectl(["-n", NAMESPACE, "apply", "-f", "-"], printed ?? "");
    await cluster.untilRolledOut("printed");
    const pod = await cluster.pod("version=printed");
    expect(initContainers(pod)).toEqual(["istio-init", "istio-proxy"]);
    expect((await cluster.callFrom(pod, "http://api/")).body).toContain(CALLER);
    await cluster.deleteAndWait(plain);
  });

  test("processes of the proxy's container are called pilot-agent and envoy", async () => {
    const { metadata } = await place().pod("app=web");
    const names = await place().inProxy(metadata.name, "sh", "-c", "cat /proc/[0-9]*/comm");
    expect(names.split("\n")).toEqual(expect.arrayContaining(["pilot-agent", "envoy"]));
  });

  test("probes are answered by the agent, which asks the application", async () => {
    const { spec, status } = await place().pod("app=web");
    const probe = spec.containers.find(({ name }) => name === "app")?.readinessProbe?.httpGet;
    expect(probe).toMatchObject({ path: "/app-health/app/readyz", port: 15020 });
    expect((await fetchAnswer(`http://${status.podIP}:15020/app-health/app/readyz`)).status).toBe(200);
  });

  test("one scrape of port 15020 has metrics of the agent, of Envoy and of the application", async () => {
    const cluster = place();
    const annotations = { "prometheus.io/scrape": "true", "prometheus.io/port": "8080" };
    const scraped = appDeployment({ name: "scraped", app: "web", version: "scraped", image: IMAGE, annotations });
    await cluster.apply([scraped]);
    await cluster.untilRolledOut("scraped");
    const { status } = await cluster.pod("version=scraped");
    const text = await fetchOk(`http://${status.podIP}:15020/stats/prometheus`);
    expect(text).toMatch(/^istio_agent_/m);
    expect(text).toMatch(/^envoy_/m);
    expect(text).toMatch(/^app_requests 7$/m);
    await cluster.deleteAndWait(scraped);
  });

  test("a sidecar beside the application, where an annotation asks for it, carries the same calls", async () => {
    const cluster = place();
    const annotations = { "sidecar.istio.io/nativeSidecar": "false" };
    const beside = appDeployment({ name: "beside", app: "web", version: "beside", image: IMAGE, annotations });
    await cluster.apply([beside]);
    await cluster.untilRolledOut("beside");
    const pod = await cluster.pod("version=beside");
    expect(containers(pod).toSorted()).toEqual(["app", "istio-proxy"]);
    expect(initContainers(pod)).toEqual(["istio-init"]);
    expect((await cluster.callFrom(pod, "http://api/")).body).toContain(CALLER);
    await cluster.deleteAndWait(beside);
  });

  test("nftables capture when the values of injection say so, from the next pod on", async () => {
    const cluster = place();
    const before = await readValues(cluster);
    const values = JSON.parse(before) as { global: Record<string, unknown> };
    await writeValues(cluster, JSON.stringify({ ...values, global: { ...values.global, nativeNftables: true } }));
    const nft = appDeployment({ name: "nft", app: "web", version: "nft", image: IMAGE });
    // The control plane follows its map within a moment; a pod from before is made again.
    const isCaptured = async () => {
      await cluster.apply([nft]);
      await cluster.untilRolledOut("nft");
      const { metadata, spec } = await cluster.pod("version=nft");
      const [init] = spec.initContainers ?? [];
      if (init?.args?.includes("--native-nftables")) return true;
      await cluster.deleteAndWait(nft);
      return `${metadata.name}: ${init?.args?.join(" ")}`;
    };
    await until("a new pod is captured by nftables", isCaptured, SETTLE_MS);
    const pod = await cluster.pod("version=nft");
    expect((await cluster.callFrom(pod, "http://api/")).body).toContain(CALLER);
    await cluster.deleteAndWait(nft);
    await writeValues(cluster, before);
  });
}

const INJECTOR = { namespace: "istio-system", name: "istio-sidecar-injector" };

async function readValues({ api }: MeshCluster): Promise<string> {
  const path = `/api/v1/namespaces/${INJECTOR.namespace}/configmaps/${INJECTOR.name}`;
  return ((await api.json({ path })) as unknown as { data: { values: string } }).data.values;
}

async function writeValues({ kubectl }: MeshCluster, values: string): Promise<void> {
  const patch = JSON.stringify({ data: { values } });
  await kubectl(["-n", INJECTOR.namespace, "patch", "configmap", INJECTOR.name, "--type=merge", "-p", patch]);
}
