import { silentLogger } from "../../../src/base/logger.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { Secret } from "../../../src/base/secret.ts";
import { declareSdsMetrics } from "../../../src/sds/metrics.ts";
import type { SecretSource } from "../../../src/sds/secret-source.ts";
import { startSdsServer } from "../../../src/sds/start-sds-server.ts";
import { createTestCa } from "../certs/test-ca.ts";

/** A stand-in for the agent's SDS that has a secret of every name. */
export async function startAnySecrets(path: string) {
  const ca = await createTestCa();
  const { cert, key } = await ca.pair(["spiffe://cluster.local/ns/default/sa/default"]);
  const isRoot = (name: string) => name === "ROOTCA" || name.startsWith("file-root:");
  const source: SecretSource = {
    get: async (name) =>
      isRoot(name)
        ? { kind: "trust-bundle", name, version: "1", roots: Buffer.from(ca.rootPem), crlPath: undefined }
        : {
            kind: "key-pair",
            name,
            version: "1",
            certificateChain: Buffer.from(cert),
            privateKey: new Secret(Buffer.from(key)),
          },
    onChange: () => () => undefined,
  };
  const metrics = declareSdsMetrics(new MetricRegistry());
  return startSdsServer({ path, source, metrics, log: silentLogger });
}
