import { expect } from "vitest";
import { askControlPlane } from "../../conformance/control-planes/ask-control-plane.ts";
import { kubeService } from "../discovery/kubernetes-objects.ts";
import { startDiscoveryServer } from "../discovery/server.ts";
import { until } from "../wait/until.ts";
import type { Manifest } from "./apply-objects.ts";
import { blockAddresses, blockSlices } from "./endpoint-blocks.ts";
import type { Kubernetes } from "./start-kubernetes.ts";

interface ShownSource {
  readonly state: string;
  readonly ageSeconds: number;
  readonly kinds: readonly { readonly kind: string; readonly ageSeconds: number; readonly problem?: string }[];
}

const NODE = {
  id: "sidecar~10.9.9.9~client.prod~prod.svc.cluster.local",
  metadata: { NAMESPACE: "prod", CLUSTER_ID: "Kubernetes", INSTANCE_IPS: "10.9.9.9" },
};

/** What a proxy calls for the service `web`, asked on a stream of its own. */
export async function webAddresses(port: number): Promise<readonly string[]> {
  const { endpoints } = await askControlPlane({ host: "127.0.0.1", port }, NODE);
  const text = JSON.stringify(endpoints.find(({ clusterName }) => String(clusterName).includes("|web.prod.")) ?? {});
  return [...text.matchAll(/"address":"([\d.]+)"/g)].map(([, address = ""]) => address).sort();
}

/** An API server that is killed and comes back: what was known is served meanwhile, with its age, and what changed since then after it. */
export async function expectLastState(kubernetes: Kubernetes, awaySeconds: number): Promise<void> {
  await kubernetes.apply([kubeService("web", { clusterIP: "10.96.0.78" }) as unknown as Manifest]);
  await kubernetes.apply(blockSlices("web", 3, 1));
  await using server = await startDiscoveryServer({
    kubernetes: { kubeconfig: kubernetes.kubeconfig, environment: {} },
  });
  const shown = () => webAddresses(server.ports.grpc);
  const source = async () => {
    const [own] = (await (await server.get("/debug/freshness")).json()) as readonly ShownSource[];
    if (own === undefined) throw new Error("no source is shown");
    return own;
  };
  await until(async () => expect(await shown()).toEqual(blockAddresses(3, 1)));
  await kubernetes.kill();
  await until(
    `the state is ${awaySeconds} s old`,
    async () => {
      expect(await shown()).toEqual(blockAddresses(3, 1));
      const { state, ageSeconds, kinds } = await source();
      expect(state).toBe("stale");
      expect(ageSeconds).toBeGreaterThan(awaySeconds);
      expect(kinds.filter(({ problem }) => problem === undefined)).toEqual([]);
    },
    (awaySeconds + 60) * 1000,
  );
  expect((await server.get("/ready")).status).toBe(200);
  await kubernetes.restart();
  await kubernetes.apply(blockSlices("web", 3, 2));
  await until(async () => expect(await shown()).toEqual(blockAddresses(3, 2)), 120_000);
  await until(async () => expect((await source()).state).toBe("synced"), 120_000);
}
