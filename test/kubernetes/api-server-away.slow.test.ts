import { test } from "vitest";
import { expectLastState } from "../support/kubernetes/api-server-away.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";

const cluster = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await kubernetes.apply([namespace("prod"), namespace("istio-system")]);
  return kubernetes;
});

test("an API server that is away for a minute leaves the last state, which says its age", async () => {
  await expectLastState(cluster(), 60);
});
