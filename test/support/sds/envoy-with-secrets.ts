import { join } from "node:path";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import type { SecretManagerOptions } from "../../../src/identity/secret-manager-options.ts";
import { type SecretManager, startSecretManager } from "../../../src/identity/start-secret-manager.ts";
import { declareSdsMetrics } from "../../../src/sds/metrics.ts";
import { startSdsServer } from "../../../src/sds/start-sds-server.ts";
import { createTestCa, createTestCaClient, type TestCa, type TestCaClient } from "../certs/test-ca.ts";
import { type RunningEnvoy, runEnvoy } from "../envoy/run-envoy.ts";
import { sdsBootstrap } from "../envoy/sds-bootstrap.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { type RecordedLog, recordLog } from "../log/recording-log.ts";
import { freePort } from "../net/free-ports.ts";
import { type Load, startLoad } from "../net/start-load.ts";
import { requestCertificate, type TlsClient } from "../net/tls-request.ts";
import { until } from "../wait/until.ts";
import { managerOptions } from "./manager.ts";

/** Envoy, our SDS server and our secret manager together, with a CA whose answers the test sets. */
export interface EnvoyWithSecrets extends AsyncDisposable {
  readonly ca: TestCa;
  readonly caClient: TestCaClient;
  readonly manager: SecretManager;
  readonly envoy: RunningEnvoy;
  /** Of Envoy's listener. */
  readonly port: number;
  readonly client: TlsClient;
  readonly log: RecordedLog;
}

export async function startEnvoyWithSecrets(
  ttlMs: number,
  given: Partial<SecretManagerOptions> = {},
  answer?: TestCaClient["answer"],
): Promise<EnvoyWithSecrets> {
  const directory = temporaryFolder();
  const ca = await createTestCa();
  const caClient = createTestCaClient(ca, ttlMs);
  caClient.answer = answer;
  const log = recordLog();
  const path = join(directory.path, "socket");
  const manager = await startSecretManager(managerOptions({ caClient, log, ...given }));
  const metrics = declareSdsMetrics(new MetricRegistry());
  const server = await startSdsServer({ path, source: manager, metrics, log });
  const port = await freePort();
  const envoy = await runEnvoy(sdsBootstrap(path, port), { logLevel: "info" });
  const client = { ca: ca.rootPem, ...(await ca.pair(["spiffe://cluster.local/ns/default/sa/client"])) };
  return {
    ca,
    caClient,
    manager,
    envoy,
    port,
    client,
    log,
    [Symbol.asyncDispose]: async () => {
      await envoy[Symbol.asyncDispose]();
      await server.stop();
      await manager.stop();
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** Requests on fresh connections, one after the other in each lane; an answer is the serial number of Envoy's certificate. */
export function startTlsLoad({ port, client }: EnvoyWithSecrets, lanes = 3): Load {
  return startLoad(async () => (await requestCertificate(port, client)).serialNumber, { lanes });
}

export async function untilServing(run: EnvoyWithSecrets): Promise<void> {
  await until("Envoy serves", () => requestCertificate(run.port, run.client));
}
