import { afterEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { kubePod, kubeService, kubeSlice } from "../support/discovery/kubernetes-objects.ts";
import { createScriptedCluster } from "../support/discovery/scripted-cluster.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { until } from "../support/wait/until.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const NODE = encodeURIComponent(
  JSON.stringify({ id: "sidecar~10.9.9.9~client.prod~prod.svc.cluster.local", metadata: { NAMESPACE: "prod" } }),
);
const WEB = "outbound|80||web.prod.svc.cluster.local";

interface Explained {
  readonly type: string;
  readonly name: string;
  readonly origins: readonly object[];
  readonly parts: readonly { readonly name: string; readonly origins: readonly object[] }[];
}

const versioned = <Of extends { readonly metadata?: object }>(object: Of, resourceVersion: string): Of => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion },
});
const rule = (resourceVersion: string) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "DestinationRule",
  metadata: { name: "web", namespace: "prod", resourceVersion },
  spec: { host: "web", trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } } },
});

async function startWith(files: Readonly<Record<string, string>> = {}) {
  const cluster = createScriptedCluster();
  cluster.set("customresourcedefinitions", {
    metadata: { name: "destinationrules.networking.istio.io" },
    spec: {
      group: "networking.istio.io",
      names: { kind: "DestinationRule", plural: "destinationrules" },
      versions: [{ name: "v1", served: true }],
    },
  } as never);
  cluster.set("services", versioned(kubeService("web"), "11"));
  cluster.set("pods", versioned(kubePod("web-0", "10.0.0.1", { spec: { nodeName: "" } }), "12"));
  cluster.set("endpointslices", versioned(kubeSlice("web", [{ address: "10.0.0.1", pod: "web-0" }]), "13"));
  cluster.set("destinationrules", rule("14"));
  const server = opened.add(await startDiscoveryServer({ kubernetesSource: cluster, clusterId: "east", files }));
  const explain = async (query: string): Promise<readonly Explained[]> => {
    const answer = await server.get(`/debug/explain?node=${NODE}&${query}`);
    expect(answer.status).toBe(200);
    return (await answer.json()) as readonly Explained[];
  };
  return { cluster, server, explain };
}

const at = (kind: string, name: string, resourceVersion: string) => ({
  kind,
  namespace: "prod",
  name,
  cluster: "east",
  resourceVersion,
});

describe("a running control plane says of objects of a cluster which version counts", () => {
  test("of clusters, and of endpoints", async () => {
    const { explain } = await startWith();
    const [cds, eds] = await explain(`why=${encodeURIComponent(WEB)}`);
    expect(cds?.origins).toEqual([at("Service", "web", "11"), at("DestinationRule", "web", "14")]);
    expect(eds?.parts).toEqual([
      {
        kind: "endpoint",
        name: "10.0.0.1:8080",
        origins: [at("EndpointSlice", "web-1", "13"), at("Pod", "web-0", "12")],
      },
    ]);
    const all = await explain("origins");
    const same = all.find(({ type, name }) => type === "eds" && name === WEB);
    expect(same?.parts).toEqual(eds?.parts);
  });

  test("also of a version that says the same as the one before", async () => {
    const { cluster, explain } = await startWith();
    cluster.set("services", versioned(kubeService("web"), "21"));
    cluster.set("pods", versioned(kubePod("web-0", "10.0.0.1", { spec: { nodeName: "" } }), "22"));
    cluster.set("destinationrules", rule("24"));
    const ask = async () => (await explain(`why=${encodeURIComponent(WEB)}`)) as readonly [Explained, Explained];
    const [cds, eds] = await ask();
    expect(cds.origins).toEqual([at("Service", "web", "21"), at("DestinationRule", "web", "24")]);
    expect(eds.parts[0]?.origins).toEqual([at("EndpointSlice", "web-1", "13"), at("Pod", "web-0", "22")]);
    cluster.remove("endpointslices", kubeSlice("web", []));
    await until("the endpoint is gone", async () => (await ask())[1].parts.length === 0);
  });
});

test("objects of files are said to be in them, also where the cluster has one of the name", async () => {
  const own = JSON.stringify({ ...rule(""), metadata: { name: "web", namespace: "prod" } });
  const { server, explain } = await startWith({ "rules.yaml": `# mine\n---\n${own}\n` });
  const [cds] = await explain(`type=cds&why=${encodeURIComponent(WEB)}`);
  const origin = { kind: "DestinationRule", namespace: "prod", name: "web" };
  expect(cds?.origins[1]).toEqual({ ...origin, file: `${server.folder}/config/rules.yaml`, line: 3 });
});
