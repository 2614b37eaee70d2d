import { join } from "node:path";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import type { SecretManagerOptions } from "../../../src/identity/secret-manager-options.ts";
import { type SecretManager, startSecretManager } from "../../../src/identity/start-secret-manager.ts";
import { declareSdsMetrics } from "../../../src/sds/metrics.ts";
import { startSdsServer } from "../../../src/sds/start-sds-server.ts";
import { createTestCa, createTestCaClient, type TestCa, type TestCaClient } from "../certs/sds-certificates.ts";
import { type RecordedLog, recordLog } from "../log/recording-log.ts";
import { managerOptions, temporaryDirectory } from "../sds/manager.ts";
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
  const directory = await temporaryDirectory();
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

export interface Load {
  /** Different certificates the server has shown. */
  readonly serials: ReadonlySet<string>;
  readonly failures: readonly string[];
  readonly requests: number;
  stop(): Promise<void>;
}

/** Requests one after the other on fresh connections, on several tracks, without a pause. */
export function startLoad(run: EnvoyRun, tracks = 3): Load {
  const serials = new Set<string>();
  const failures: string[] = [];
  let requests = 0;
  let isRunning = true;
  const track = async () => {
    while (isRunning) {
      requests += 1;
      try {
        serials.add((await requestOnce(run.envoy.port, run.client)).serialNumber);
      } catch (failure) {
        failures.push(String(failure));
      }
    }
  };
  const running = Array.from({ length: tracks }, track);
  return {
    serials,
    failures,
    get requests() {
      return requests;
    },
    stop: async () => {
      isRunning = false;
      await Promise.all(running);
    },
  };
}

export async function untilServing(run: EnvoyRun): Promise<void> {
  await until(
    "Envoy serves",
    () =>
      requestOnce(run.envoy.port, run.client).then(
        () => true,
        () => false,
      ),
    10_000,
  );
}
