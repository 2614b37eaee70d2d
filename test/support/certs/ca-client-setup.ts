import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import type { CaClientOptions } from "../../../src/identity/ca-client/ca-client-options.ts";
import { startCitadelClient } from "../../../src/identity/ca-client/citadel-client.ts";
import type { CaClient } from "../../../src/identity/ca-client/types.ts";
import { buildCsr } from "../../../src/protocol/x509/csr.ts";
import { encodePrivateKey, generateKeyPair, type KeyPair } from "../../../src/protocol/x509/key-pair.ts";
import { type RecordedLog, recordLog } from "../log/recording-log.ts";

export const WEB_IDENTITY = "spiffe://cluster.local/ns/default/sa/web";

export interface TestClient extends AsyncDisposable {
  readonly client: CaClient;
  readonly log: RecordedLog;
  readonly registry: MetricRegistry;
  readonly keys: KeyPair;
  readonly csr: string;
  /** The private key's text, which must show up nowhere. */
  readonly keyPem: string;
  sign(signal?: AbortSignal): ReturnType<CaClient["sign"]>;
}

/** A client with a request of its own, for a CA at `endpoint` whose root is in `rootFile`. */
export async function startTestClient(
  options: Partial<CaClientOptions> & { readonly endpoint: string; readonly rootFile: string },
): Promise<TestClient> {
  const log = recordLog();
  const registry = new MetricRegistry();
  const retries = registry.counter({ name: "retries", help: "retries", labels: ["request_type"] });
  const keys = await generateKeyPair({ type: "ecdsa", curve: "P256" });
  const csr = await buildCsr(keys, { hosts: [WEB_IDENTITY] });
  const client = await startCitadelClient({ clusterId: "Kubernetes", certSigner: "", retries, log, ...options });
  return {
    client,
    log,
    registry,
    keys,
    csr,
    keyPem: encodePrivateKey(keys.privateKey, true).reveal(),
    sign: (signal = new AbortController().signal) => client.sign(csr, 3600, signal),
    [Symbol.asyncDispose]: () => client.close(),
  };
}
