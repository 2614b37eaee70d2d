import { afterEach, beforeEach, expect, test } from "vitest";
import type { KeyPairSecret } from "../../src/identity/secrets.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { needs } from "../support/needs.ts";
import { requestCertificate } from "../support/net/tls-request.ts";
import {
  type EnvoyWithSecrets,
  startEnvoyWithSecrets,
  startTlsLoad,
  untilServing,
} from "../support/sds/envoy-with-secrets.ts";
import { until } from "../support/wait/until.ts";

let run: EnvoyWithSecrets | undefined;
beforeEach(needs("envoy"));
afterEach(async () => {
  await run?.[Symbol.asyncDispose]();
  run = undefined;
});

test("Envoy serves through rotations under load without one failed request", async () => {
  run = await startEnvoyWithSecrets(12_000, { renewal: { ratio: 0.9, jitter: 0 } });
  await untilServing(run);
  const load = startTlsLoad(run);
  await until("four certificates were shown", () => load.answers.size >= 4);
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(await run.envoy.stat("update_rejected")).toBe(0);
  expect(await run.envoy.stat("server_ssl_socket_factory.ssl_context_update_by_sds")).toBeGreaterThanOrEqual(4);
  const key = (await run.manager.get("default")) as KeyPairSecret;
  expect(run.log.printed.join("\n")).not.toContain(key.privateKey.reveal().toString().split("\n")[1]);
});

test("with the CA down Envoy keeps its certificate and its streams, and gets the next one when it is back", async () => {
  run = await startEnvoyWithSecrets(60_000, { renewal: { ratio: 0.98, jitter: 0 } });
  await untilServing(run);
  run.caClient.answer = () => Promise.reject(new Error("CA is down"));
  const load = startTlsLoad(run, 1);
  const failing = run;
  await until(
    "renewals fail",
    async () => (await failing.manager.describeCertificates())[0]?.lastFailure !== undefined,
  );
  const streams = await run.envoy.stat("cluster.sds-grpc.upstream_rq_active");
  run.caClient.answer = undefined;
  const before = load.answers.size;
  await until("the next certificate was shown", () => load.answers.size > before);
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(streams).toBe(2);
});

test("with the CA down at the start Envoy is not ready, says why, and serves soon after the CA is back", async () => {
  const backoff = { initialMs: 100, maxMs: 300, factor: 1.5, jitter: 0 };
  run = await startEnvoyWithSecrets(60_000, { tuning: { backoff } }, () =>
    Promise.reject(new Error("CA at ca.test is down")),
  );
  const { envoy } = run;
  await until("Envoy logs the reason", async () => (await envoy.output()).includes("CA at ca.test is down"));
  expect(await envoy.isReady()).toBe(false);
  expect(await run.manager.unavailableReason()).toContain("CA at ca.test is down");
  run.caClient.answer = undefined;
  await untilServing(run);
  expect(await envoy.isReady()).toBe(true);
});

test("a root that is added to the trust bundle is accepted by Envoy without a new certificate", async () => {
  run = await startEnvoyWithSecrets(60_000);
  await untilServing(run);
  const stranger = await createTestCa("stranger.example");
  const client = { ...run.client, ...(await stranger.pair(["spiffe://stranger/ns/a/sa/b"])) };
  await expect(requestCertificate(run.port, client)).rejects.toThrow();
  run.manager.setConfigTrustBundle([stranger.rootPem]);
  const { port } = run;
  await until("the stranger is trusted", () =>
    requestCertificate(port, client).then(
      () => true,
      () => false,
    ),
  );
  expect(run.caClient.calls).toBe(1);
});
