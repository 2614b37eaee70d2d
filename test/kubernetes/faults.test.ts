import { expect, test } from "vitest";
import { kubeService } from "../support/discovery/kubernetes-objects.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { expectLastState, webAddresses } from "../support/kubernetes/api-server-away.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { blockAddresses, blockSlices } from "../support/kubernetes/endpoint-blocks.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";
import { until } from "../support/wait/until.ts";

const cluster = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await kubernetes.apply([namespace("prod"), namespace("istio-system")]);
  return kubernetes;
});

const ENDPOINTS = 5000;

test("5,000 endpoints that change all at once, four times, end as their last state", async () => {
  const kubernetes = cluster();
  await kubernetes.apply([kubeService("web", { clusterIP: "10.96.0.78" }) as unknown as Manifest]);
  await using server = await startDiscoveryServer({
    kubernetes: { kubeconfig: kubernetes.kubeconfig, environment: {} },
  });
  for (const round of [1, 2, 3, 4]) await kubernetes.apply(blockSlices("web", ENDPOINTS, round));
  const expected = [...blockAddresses(ENDPOINTS, 4)].sort();
  await until(async () => expect((await webAddresses(server.ports.grpc)).length).toBe(ENDPOINTS));
  await until(async () => expect(await webAddresses(server.ports.grpc)).toEqual(expected));
});

test("while the API server is away the last state is served, also to new streams, and says its age", async () => {
  const kubernetes = cluster();
  for (const { apiVersion, kind, metadata } of blockSlices("web", ENDPOINTS, 4).slice(1))
    await kubernetes.delete({ apiVersion, kind, metadata });
  await expectLastState(kubernetes, 3);
});
