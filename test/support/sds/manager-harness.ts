import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { MetricRegistry } from "../../../src/base/metric-registry.ts";
import type { SecretManagerOptions } from "../../../src/identity/secret-manager-options.ts";
import type { KeyPairSecret, TrustBundleSecret } from "../../../src/identity/secrets.ts";
import { type SecretManager, startSecretManager } from "../../../src/identity/start-secret-manager.ts";
import { type TemporaryFolder, temporaryFolder } from "../files/temporary-folder.ts";
import { managerOptions } from "./manager.ts";

export interface ManagerHarness {
  /** A path in the directory of the running test. */
  at(...parts: string[]): string;
  /** Stopped at the end of the test. */
  start(
    given: Partial<SecretManagerOptions> & Pick<SecretManagerOptions, "caClient">,
    registry?: MetricRegistry,
  ): Promise<SecretManager>;
}

/** Gives each test of the file a directory and managers that do not outlive it. */
export function useManagers(): ManagerHarness {
  let directory: TemporaryFolder;
  let managers: SecretManager[] = [];
  beforeEach(async () => {
    directory = temporaryFolder();
  });
  afterEach(async () => {
    for (const manager of managers) await manager.stop();
    managers = [];
    await directory[Symbol.asyncDispose]();
  });
  return {
    at: (...parts) => join(directory.path, ...parts),
    start: async (given, registry) => {
      const manager = await startSecretManager(managerOptions(given, registry));
      managers.push(manager);
      return manager;
    },
  };
}

export async function keyPair(manager: SecretManager, name = "default"): Promise<KeyPairSecret> {
  return (await manager.get(name)) as KeyPairSecret;
}

export async function trustBundle(manager: SecretManager, name = "ROOTCA"): Promise<TrustBundleSecret> {
  return (await manager.get(name)) as TrustBundleSecret;
}

/** Counts the calls for one name. */
export function countChanges(manager: SecretManager, name: string): { count: number } {
  const seen = { count: 0 };
  manager.onChange(name, () => {
    seen.count += 1;
  });
  return seen;
}
