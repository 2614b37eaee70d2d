import { afterEach, beforeEach, expect, test } from "vitest";
import { type EnvoyRun, startEnvoyRun, startLoad, untilServing } from "../support/envoy/sds-envoy-run.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/wait/until.ts";

let run: EnvoyRun | undefined;
beforeEach(needs("envoy"));
afterEach(async () => {
  await run?.[Symbol.asyncDispose]();
  run = undefined;
});

test("a certificate of twenty seconds rotates five times under constant load without one failed request", async () => {
  run = await startEnvoyRun(20_000, { renewal: { ratio: 0.5, jitter: 0.01 } });
  await untilServing(run);
  const load = startLoad(run);
  await until("six certificates were shown", () => load.serials.size >= 6, 90_000);
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(load.requests).toBeGreaterThan(1000);
});

test("with the CA down for almost a whole half life no request fails and no stream is closed", async () => {
  run = await startEnvoyRun(20_000);
  await untilServing(run);
  const load = startLoad(run);
  const { envoy, caClient } = run;
  const opened = await envoy.stat("cluster.sds-grpc.upstream_rq_total");
  caClient.answer = () => Promise.reject(new Error("CA is down"));
  const startMs = performance.now();
  await until("the outage has lasted", () => performance.now() - startMs > 16_000, 20_000);
  expect(load.serials.size).toBe(1);
  caClient.answer = undefined;
  await until("the next certificate was shown", () => load.serials.size === 2, 5000);
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(await envoy.stat("cluster.sds-grpc.upstream_rq_total")).toBe(opened);
});
