import { expect, test } from "vitest";
import { appDeployment, appObjects, NAMESPACE, namespaceObject } from "../support/cluster/apps.ts";
import { IMAGE, type MeshCluster, SETTLE_MS } from "../support/cluster/start-mesh-cluster.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { fetchOk } from "../support/net/fetch-answer.ts";
import { startLoad } from "../support/net/start-load.ts";
import { until } from "../support/wait/until.ts";

const rule = (apiVersion: string, kind: string, name: string, spec: unknown): Manifest => {
  return { apiVersion, kind, metadata: { name, namespace: NAMESPACE }, spec };
};

const GATEWAY = "istio=ingressgateway";
const ROLLED_OUT = ["-n", "istio-system", "rollout", "status", "deployment/istio-ingressgateway", "--timeout=240s"];

/** As users do it. */
const kubectlApply = (cluster: MeshCluster, ...objects: readonly Manifest[]) =>
  cluster.kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));

/** What rules do to calls between pods. */
export function testTraffic(place: () => MeshCluster): void {
  test("calls between pods are mutual TLS with the identities of their accounts", async () => {
    const reply = await place().call("web", "http://api/hello");
    expect(reply.status).toBe(200);
    const { headers } = JSON.parse(reply.body) as { headers: Record<string, string> };
    expect(headers["x-forwarded-client-cert"]).toContain(`By=spiffe://cluster.local/ns/${NAMESPACE}/sa/api`);
    expect(headers["x-forwarded-client-cert"]).toContain(`URI=spiffe://cluster.local/ns/${NAMESPACE}/sa/web`);
  });

  test("STRICT refuses a pod outside the mesh, and lets those inside through", async () => {
    const cluster = place();
    const plain = namespaceObject("plain");
    const outsider = appDeployment({ name: "outsider", image: IMAGE, namespace: "plain" });
    await cluster.apply([plain, ...appObjects("outsider", "plain"), outsider]);
    const outside = async () => (await cluster.call("outsider", `http://api.${NAMESPACE}/`, "plain")).status;
    await cluster.kubectl(["-n", "plain", "rollout", "status", "deployment/outsider", "--timeout=240s"]);
    await until("it is served while the mode is PERMISSIVE", async () => (await outside()) === 200, SETTLE_MS);
    const strict = rule("security.istio.io/v1", "PeerAuthentication", "api", {
      selector: { matchLabels: { app: "api" } },
      mtls: { mode: "STRICT" },
    });
    await kubectlApply(cluster, strict);
    await until("it is refused", async () => (await outside()) === 0, SETTLE_MS);
    expect((await cluster.call("web", "http://api/")).status).toBe(200);
    await cluster.delete(strict);
    await until("it is served again", async () => (await outside()) === 200, SETTLE_MS);
    await cluster.delete(plain);
  });

  test("a split of 90 to 10 and a fault follow kubectl apply", async () => {
    const cluster = place();
    const subset = (name: string) => ({ name, labels: { version: name } });
    const spec = { host: "api", subsets: [subset("v1"), subset("v2")] };
    const subsets = rule("networking.istio.io/v1", "DestinationRule", "api", spec);
    const routes = (http: object) =>
      rule("networking.istio.io/v1", "VirtualService", "api", { hosts: ["api"], http: [http] });
    const to = (name: string, weight: number) => ({ destination: { host: "api", subset: name }, weight });
    const calls = (count: number) => outcomes(cluster, count);

    await kubectlApply(cluster, subsets, routes({ route: [to("v1", 100), to("v2", 0)] }));
    await until("all go to v1", async () => (await calls(12)).every((outcome) => outcome === "v1"), SETTLE_MS);
    await kubectlApply(cluster, routes({ route: [to("v1", 90), to("v2", 10)] }));
    await until("some go to v2", async () => (await calls(12)).includes("v2"), SETTLE_MS);
    const counted: (string | number)[] = [];
    while (counted.length < 400) counted.push(...(await calls(20)));
    const share = counted.filter((outcome) => outcome === "v2").length / counted.length;
    // Four standard deviations of 400 calls on either side.
    expect(share).toBeGreaterThan(0.04);
    expect(share).toBeLessThan(0.16);

    const fault = { abort: { httpStatus: 418, percentage: { value: 100 } } };
    await kubectlApply(cluster, routes({ fault, route: [to("v1", 100)] }));
    await until("the fault is there", async () => (await calls(4)).every((outcome) => outcome === 418), SETTLE_MS);
    await Promise.all([cluster.delete(subsets), cluster.delete(routes({}))]);
    await until("calls are served", async () => (await calls(4)).every((outcome) => outcome !== 418), SETTLE_MS);
  });

  test("a gateway is reached from outside the cluster, and a rolling update of it costs no request", async () => {
    const cluster = place();
    await cluster.kubectl(ROLLED_OUT);
    const gateway = rule("networking.istio.io/v1", "Gateway", "shop", {
      selector: { istio: "ingressgateway" },
      servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }],
    });
    const http = [{ route: [{ destination: { host: "web" } }] }];
    const route = rule("networking.istio.io/v1", "VirtualService", "shop", { hosts: ["*"], gateways: ["shop"], http });
    await kubectlApply(cluster, gateway, route);
    const url = `http://${await cluster.serviceAddress("istio-system", "istio-ingressgateway")}/shop`;
    const answers = async () => (await fetchOk(url)).includes("sa/istio-ingressgateway");
    await until("the gateway answers for the application", answers, SETTLE_MS);

    // Each on a connection of its own: those that come while the old pod goes are the ones that count.
    const load = startLoad(() => fetchOk(url), { lanes: 2, pauseMs: 20 });
    try {
      await cluster.kubectl(["-n", "istio-system", "rollout", "restart", "deployment/istio-ingressgateway"]);
      await cluster.kubectl(ROLLED_OUT);
      const since = load.requests;
      await until(
        "the old pod is gone",
        async () => (await cluster.allPods(GATEWAY, "istio-system")).length === 1,
        SETTLE_MS,
      );
      await until("requests go on", () => load.requests > since + 20, SETTLE_MS);
    } finally {
      await load.stop();
    }
    expect(load.failures).toEqual([]);
  });
}

/** The version that answered, or the status when it was not 200. */
async function outcomes(cluster: MeshCluster, count: number): Promise<(string | number)[]> {
  const replies = await Promise.all(Array.from({ length: count }, () => cluster.call("web", "http://api/")));
  return replies.map(({ status, body }) =>
    status === 200 ? (JSON.parse(body) as { version: string }).version : status,
  );
}
