import { join } from "node:path";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import type { SecretManagerOptions } from "../../../src/identity/secret-manager-options.ts";
import { type SecretManager, startSecretManager } from "../../../src/identity/start-secret-manager.ts";
import { declareSdsMetrics } from "../../../src/sds/metrics.ts";
import { startSdsServer } from "../../../src/sds/start-sds-server.ts";
import { createTestCa, createTestCaClient, type TestCa, type TestCaClient } from "../certs/test-ca.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { type RecordedLog, recordLog } from "../log/recording-log.ts";
import { type Load, startLoad } from "../net/start-load.ts";
import { managerOptions } from "../sds/manager.ts";
import { until } from "../wait/until.ts";
import { requestOnce, type SdsEnvoy, startSdsEnvoy, type TlsClient } from "./sds-envoy.ts";

/** Envoy, our SDS server and our secret manager together, with a CA whose answers the test sets. */
export interface EnvoyRun extends AsyncDisposable {
  readonly ca: TestCa;
  readonly caClient: TestCaClient;
  readonly manager: SecretManager;
  readonly envoy: SdsEnvoy;
  readonly client: TlsClient;
  readonly log: RecordedLog;
}

export async function startEnvoyRun(
  ttlMs: number,
  given: Partial<SecretManagerOptions> = {},
  answer?: TestCaClient["answer"],
): Promise<EnvoyRun> {
  const directory = temporaryFolder();
  const ca = await createTestCa();
  const caClient = createTestCaClient(ca, ttlMs);
  caClient.answer = answer;
  const log = recordLog();
  const path = join(directory.path, "socket");
  const manager = await startSecretManager(managerOptions({ caClient, log, ...given }));
  const metrics = declareSdsMetrics(new MetricRegistry());
  const server = await startSdsServer({ path, source: manager, metrics, log });
  const envoy = await startSdsEnvoy(path);
  const client = { ca: ca.rootPem, ...(await ca.pair(["spiffe://cluster.local/ns/default/sa/client"])) };
  return {
    ca,
    caClient,
    manager,
    envoy,
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
export function startTlsLoad({ envoy, client }: EnvoyRun, lanes = 3): Load {
  return startLoad(async () => (await requestOnce(envoy.port, client)).serialNumber, { lanes });
}

export async function untilServing(run: EnvoyRun): Promise<void> {
  await until("Envoy serves", () => requestOnce(run.envoy.port, run.client), 10_000);
}
