import { beforeEach, expect, test } from "vitest";
import { needs } from "../support/needs.ts";
import { fetchOk } from "../support/net/fetch-answer.ts";
import { type SdsMesh, startMeshLoad, startSdsMesh } from "../support/sds/mesh.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

const TTL_SECONDS = 20;

async function startServing(): Promise<SdsMesh> {
  const started = await startSdsMesh(TTL_SECONDS);
  await until("the first request succeeds", () => fetchOk(`http://127.0.0.1:${started.client.port}/`).then(() => true));
  return started;
}

test.concurrent("certificates of twenty seconds rotate five times on both sides with no failed request", async () => {
  await using mesh = await startServing();
  const load = startMeshLoad(mesh);
  const seen = { server: new Set<string>(), client: new Set<string>() };
  const { server, client } = mesh;
  const rotated = async () => {
    seen.server.add((await server.workload.manager.get("default")).version);
    seen.client.add((await client.workload.manager.get("default")).version);
    return seen.server.size >= 6 && seen.client.size >= 6 && load.requests > 1000;
  };
  await until("five rotations on both sides", rotated, 180_000);
  await load.stop();
  expect(load.failures).toEqual([]);
});

test.concurrent("with the CA stopped for a whole half life no request fails", async () => {
  await using mesh = await startServing();
  const load = startMeshLoad(mesh);
  const { manager } = mesh.server.workload;
  const versions = () =>
    Promise.all(
      [mesh.server, mesh.client].map(async ({ workload }) => (await workload.manager.get("default")).version),
    );
  // Both are young when the outage begins: a certificate about to be renewed would expire in it.
  const first = await versions();
  await until("both have rotated", async () => (await versions()).every((version, at) => version !== first[at]));
  const [before] = await versions();
  await mesh.stopCa();
  const startMs = performance.now();
  await until("half a life has passed", () => performance.now() - startMs > (TTL_SECONDS * 1000) / 2, 15_000);
  await until("a renewal has failed", async () => (await manager.describeCertificates())[0]?.lastFailure !== undefined);
  await mesh.startCa();
  await until("a new certificate is served", async () => (await manager.get("default")).version !== before);
  await load.stop();
  expect(load.failures).toEqual([]);
});
