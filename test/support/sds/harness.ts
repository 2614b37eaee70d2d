import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { declareSdsMetrics } from "../../../src/sds/metrics.ts";
import { type SdsServer, type SdsServerOptions, startSdsServer } from "../../../src/sds/start-sds-server.ts";
import { type TemporaryFolder, temporaryFolder } from "../files/temporary-folder.ts";
import { type RecordedLog, recordLog } from "../log/recording-log.ts";
import { connectSds, decodeSecrets, node, type SdsAnswer, SECRET_TYPE, type TestSdsClient } from "./client.ts";
import { createTestSource, type TestSource } from "./source.ts";

/** A server, its source and a client; new for each test of the file. */
export interface SdsHarness {
  readonly source: TestSource;
  readonly client: TestSdsClient;
  readonly registry: MetricRegistry;
  readonly log: RecordedLog;
  readonly directory: string;
  readonly path: string;
  /** Stops the server and its client, both of which may be started again. */
  stop(): Promise<void>;
  start(given?: Partial<SdsServerOptions>): Promise<void>;
}

export function useSdsServer(): SdsHarness {
  let directory: TemporaryFolder;
  let server: SdsServer;
  const state = {} as { -readonly [Key in keyof SdsHarness]: SdsHarness[Key] };
  state.start = async (given = {}) => {
    state.registry = new MetricRegistry();
    state.log = recordLog();
    const { path, source, log, registry } = state;
    server = await startSdsServer({ path, source, metrics: declareSdsMetrics(registry), log, ...given });
    state.client = connectSds(path);
  };
  state.stop = async () => {
    await state.client[Symbol.asyncDispose]();
    await server.stop();
  };
  beforeEach(async () => {
    directory = temporaryFolder();
    state.directory = directory.path;
    state.path = join(directory.path, "sds", "socket");
    state.source = createTestSource({ default: "chain 1", ROOTCA: "roots 1" });
    await state.start();
  });
  afterEach(async () => {
    await state.stop();
    // Whatever happened to its streams, the server listens for nothing any more.
    expect(state.source.listenerCount).toBe(0);
    await directory[Symbol.asyncDispose]();
  });
  return state;
}

export const firstRequest = (...resource_names: string[]) => ({ node: node(), type_url: SECRET_TYPE, resource_names });

export const laterRequest = (response_nonce: string, ...resource_names: string[]) => ({
  type_url: SECRET_TYPE,
  response_nonce,
  resource_names,
});

export const secretNames = (answer: SdsAnswer) => decodeSecrets(answer).map(({ name }) => name);
