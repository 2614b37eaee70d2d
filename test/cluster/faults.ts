import { expect, test } from "vitest";
import { appDeployment, NAMESPACE } from "../support/cluster/apps.ts";
import { IMAGE, type MeshCluster, type Pod, SETTLE_MS } from "../support/cluster/start-mesh-cluster.ts";
import { fetchAnswer } from "../support/net/fetch-answer.ts";
import { type Load, startLoad } from "../support/net/start-load.ts";
import { until } from "../support/wait/until.ts";

/** What updates and deaths do to calls that go on meanwhile. */
export function testFaults(place: () => MeshCluster): void {
  test("rolling updates of an application and of the control plane cost no request", async () => {
    const cluster = place();
    const restart = (namespace: string, name: string) =>
      cluster.kubectl(["-n", namespace, "rollout", "restart", `deployment/${name}`]);
    const controlPlane = async () =>
      (await cluster.pods("app=istiod", "istio-system")).map(({ metadata }) => metadata.name);
    const load = await startCalls(cluster);
    try {
      await Promise.all(["api-v1", "api-v2"].map((name) => restart(NAMESPACE, name)));
      await cluster.untilRolledOut("api-v1", "api-v2");
      const before = await controlPlane();
      await restart("istio-system", "istiod");
      await cluster.kubectl(["-n", "istio-system", "rollout", "status", "deployment/istiod", "--timeout=240s"]);
      expect((await controlPlane()).filter((name) => before.includes(name))).toEqual([]);
      // Injected, configured and certified by the new ones.
      await restart(NAMESPACE, "api-v1");
      await cluster.untilRolledOut("api-v1");
    } finally {
      await load.stop();
    }
    expect(load.failures).toEqual([]);
    expect(load.requests).toBeGreaterThan(100);
  });

  test("a rolling update of an application that ends at once costs no request where its stop is delayed", async () => {
    const cluster = place();
    const annotations = { "inject.pilot-agent.io/application-stop-delay": "5s" };
    const options = { name: "abrupt", app: "api", version: "abrupt", image: IMAGE, annotations, endsAtOnce: true };
    const abrupt = appDeployment(options);
    await cluster.apply([abrupt]);
    await cluster.untilRolledOut("abrupt");
    const load = await startCalls(cluster);
    try {
      await cluster.kubectl(["-n", NAMESPACE, "rollout", "restart", "deployment/abrupt"]);
      await cluster.untilRolledOut("abrupt");
      await cluster.deleteAndWait(abrupt);
    } finally {
      await load.stop();
    }
    expect(load.failures).toEqual([]);
  });

  test("kubectl delete pod lets a request under way finish", async () => {
    const cluster = place();
    const { metadata, status } = await cluster.pod("app=api,version=v2");
    const slow = fetchAnswer(`http://${status.podIP}:8080/slow?ms=4000`, "GET", 60_000);
    await cluster.kubectl(["-n", NAMESPACE, "delete", "pod", metadata.name, "--wait=false"]);
    expect((await slow).status).toBe(200);
    await cluster.untilRolledOut("api-v2");
  });

  test("an Envoy that is killed is started again in its container", async () => {
    const cluster = place();
    const before = await cluster.pod("app=web");
    await cluster.inProxy(before.metadata.name, "sh", "-c", KILL, "envoy");
    await until("calls go through", async () => (await cluster.call("web", "http://api/")).status === 200, SETTLE_MS);
    expect(life(await cluster.pod("app=web"))).toEqual(life(before));
  });

  test("an agent that is killed takes its Envoy along, and the kubelet starts its container again", async () => {
    const cluster = place();
    const before = await cluster.pod("app=web");
    // The command ends with its container.
    await cluster.inProxy(before.metadata.name, "sh", "-c", KILL, "pilot-agent").catch(() => undefined);
    const isBack = async () => {
      const pod = await cluster.pod("app=web");
      if (restarts(pod, "istio-proxy") !== restarts(before, "istio-proxy") + 1 || !isReady(pod)) return "not restarted";
      return (await cluster.call("web", "http://api/")).status === 200;
    };
    await until("the container runs again and calls go through", isBack, SETTLE_MS);
    expect((await cluster.pod("app=web")).metadata.uid).toBe(before.metadata.uid);
  });

  test("a kubelet that is killed and comes back restarts no pod and costs no request", async () => {
    const cluster = place();
    const pods = async () => [...(await cluster.pods("app=web")), ...(await cluster.pods("app=api"))];
    const before = await pods();
    const load = await startCalls(cluster);
    try {
      await cluster.restartKubelet();
      const since = load.requests;
      await until("calls go on", () => load.requests > since + 50, SETTLE_MS);
    } finally {
      await load.stop();
    }
    expect((await pods()).map(life)).toEqual(before.map(life));
    expect(load.failures).toEqual([]);
  });
}

const KILL = `for process in /proc/[0-9]*; do
  read -r name <"$process/comm" || continue
  [ "$name" = "$0" ] && kill -9 "\${process#/proc/}"
done
:`;

const restarts = ({ status }: Pod, container: string) =>
  [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])].find(({ name }) => name === container)
    ?.restartCount ?? -1;
const life = (pod: Pod) => [pod.metadata.uid, restarts(pod, "istio-proxy"), restarts(pod, "app")];
const isReady = ({ status }: Pod) =>
  status.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") ?? false;

/** Calls from web to api, until stopped. Anything but 200 is a failure. */
async function startCalls(cluster: MeshCluster): Promise<Load> {
  const pod = await cluster.pod("app=web");
  const call = async () => {
    const reply = await cluster.callFrom(pod, "http://api/");
    if (reply.status !== 200) throw new Error(`${reply.status} ${reply.body}`);
    return "200";
  };
  return startLoad(call, { lanes: 2, pauseMs: 20 });
}
