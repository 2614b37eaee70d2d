import { beforeEach, expect, test } from "vitest";
import { needs } from "../support/needs.ts";
import { startEnvoyWithSecrets, startTlsLoad, untilServing } from "../support/sds/envoy-with-secrets.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

test.concurrent("a certificate of twenty seconds rotates five times under constant load without one failed request", async () => {
  await using run = await startEnvoyWithSecrets(20_000, { renewal: { ratio: 0.5, jitter: 0.01 } });
  await untilServing(run);
  const load = startTlsLoad(run);
  await until("six certificates were shown", () => load.answers.size >= 6, 180_000);
  await load.stop();
  expect(load.failures).toEqual([]);
  // Each was in use for more than one handshake: how many there are in ten seconds is the machine's affair. The first one's time was
  // partly over, the last one's has only begun.
  expect(Math.min(...[...load.answers.values()].slice(1, 5))).toBeGreaterThan(10);
});

test.concurrent("with the CA down for almost a whole half life no request fails and no stream is closed", async () => {
  await using run = await startEnvoyWithSecrets(40_000);
  await untilServing(run);
  const load = startTlsLoad(run);
  // How old the first certificate is by now is the machine's affair.
  await until("a new certificate was shown", () => load.answers.size === 2);
  const { envoy, caClient } = run;
  const opened = await envoy.stat("cluster.sds-grpc.upstream_rq_total");
  caClient.answer = () => Promise.reject(new Error("CA is down"));
  const startMs = performance.now();
  await until("the outage has lasted", () => performance.now() - startMs > 32_000);
  expect(load.answers.size).toBe(2);
  caClient.answer = undefined;
  await until("the next certificate was shown", () => load.answers.size === 3);
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(await envoy.stat("cluster.sds-grpc.upstream_rq_total")).toBe(opened);
});
