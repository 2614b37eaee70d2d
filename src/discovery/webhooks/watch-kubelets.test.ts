import { expect, test } from "vitest";
import { createScriptedCluster } from "../../../test/support/discovery/scripted-cluster.ts";
import type { ClusterUser, KnownCluster } from "../remote-clusters/start-remote-clusters.ts";
import { watchKubelets } from "./watch-kubelets.ts";

const node = (name: string, kubeletVersion: string) => ({
  metadata: { name },
  status: { nodeInfo: { kubeletVersion } },
});

function place() {
  const [own, other] = [createScriptedCluster(), createScriptedCluster()];
  own.set("nodes", node("old", "v1.28.0"));
  own.set("nodes", node("new", "v1.34.0"));
  other.set("nodes", node("far", "v1.35.0"));
  const users: ClusterUser[] = [];
  const remote = { use: (user: ClusterUser) => void users.push(user) };
  const kubelets = watchKubelets({ source: own, clusterId: "c1", remote, onChange: () => undefined });
  return { other, kubelets, user: users[0] };
}

test.each([
  { cluster: "", node: "", versions: ["v1.28.0", "v1.34.0"] },
  { cluster: "c1", node: "new", versions: ["v1.34.0"] },
  { cluster: "c1", node: "unknown", versions: ["v1.28.0", "v1.34.0"] },
  { cluster: "c2", node: "", versions: undefined },
])("a pod of cluster '$cluster' on node '$node' may meet kubelets $versions", ({ cluster, node, versions }) => {
  expect(place().kubelets.of(cluster, node)).toEqual(versions);
});

test("kubelets of another cluster count while it is known", async () => {
  const { kubelets, other, user } = place();
  const leave = user?.cluster({ id: "c2", source: other } as unknown as KnownCluster);
  expect(kubelets.of("c2", "")).toEqual(["v1.35.0"]);
  await leave?.();
  expect(kubelets.of("c2", "")).toBeUndefined();
  expect(other.watched()).toEqual([]);
});
