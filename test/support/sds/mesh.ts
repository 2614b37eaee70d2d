import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { type Logger, silentLogger } from "../../../src/base/logger.ts";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import { openDevelopmentIssuer } from "../../../src/ca/development-issuer.ts";
import { declareCaServerMetrics } from "../../../src/ca/metrics.ts";
import { type CaServer, startCaServer } from "../../../src/ca/start-ca-server.ts";
import { startCaClient } from "../../../src/identity/ca-client/providers.ts";
import { declareIdentityMetrics } from "../../../src/identity/metrics.ts";
import { type SecretManager, startSecretManager } from "../../../src/identity/start-secret-manager.ts";
import { fileTokenFetcher } from "../../../src/identity/tokens/create-token-fetcher.ts";
import { declareSdsMetrics } from "../../../src/sds/metrics.ts";
import { startSdsServer } from "../../../src/sds/start-sds-server.ts";
import { type RunningEnvoy, runEnvoy } from "../envoy/run-envoy.ts";
import { type SdsEnvoyRole, sdsBootstrap } from "../envoy/sds-bootstrap.ts";
import { temporaryFolder } from "../files/temporary-folder.ts";
import { fetchOk } from "../net/fetch-answer.ts";
import { freePort } from "../net/free-ports.ts";
import { type Load, startLoad } from "../net/start-load.ts";

export interface MeshWorkload {
  readonly identity: string;
  readonly manager: SecretManager;
  readonly sdsPath: string;
}

/** Our CA server, and workloads that get their certificates from it with tokens, over TLS, each with an Envoy. */
export interface SdsMesh extends AsyncDisposable {
  readonly server: { readonly workload: MeshWorkload; readonly envoy: RunningEnvoy; readonly port: number };
  readonly client: { readonly workload: MeshWorkload; readonly envoy: RunningEnvoy; readonly port: number };
  readonly rootFile: string;
  stopCa(): Promise<void>;
  /** On the same port and with the same root. */
  startCa(): Promise<void>;
}

export async function startSdsMesh(ttlSeconds: number, log: Logger = silentLogger): Promise<SdsMesh> {
  await using opened = new CloseStack();
  const directory = opened.add(temporaryFolder());
  const at = (...parts: string[]) => join(directory.path, ...parts);
  const issuer = await openDevelopmentIssuer(at("tokens"));
  let port = 0;
  let ca: CaServer | undefined;
  const startCa = async () => {
    ca = await startCaServer({
      directory: at("ca"),
      trustDomain: "cluster.local",
      listen: { host: "127.0.0.1", port },
      hosts: ["127.0.0.1", "localhost"],
      metrics: declareCaServerMetrics(new MetricRegistry()),
      log,
      jwtRules: [issuer.rule],
      selfSigned: { key: { type: "ecdsa", curve: "P256" } },
    });
    if ("port" in ca.address) port = ca.address.port;
  };
  const stopCa = async () => {
    await ca?.stop();
    ca = undefined;
  };
  await startCa();
  opened.defer(stopCa);

  const startWorkload = async (name: string): Promise<MeshWorkload> => {
    await mkdir(at(name));
    await writeFile(at(name, "token"), (await issuer.issue({ namespace: "default", name }, 3600)).reveal());
    const metrics = declareIdentityMetrics(new MetricRegistry());
    const caClient = await startCaClient("Citadel", {
      endpoint: `127.0.0.1:${port}`,
      rootFile: at("ca", "root-cert.pem"),
      tokens: fileTokenFetcher({ path: at(name, "token"), log }),
      clusterId: "Kubernetes",
      certSigner: "",
      retries: metrics.outgoingRetries,
      log,
    });
    opened.defer(() => caClient.close());
    const identity = `spiffe://cluster.local/ns/default/sa/${name}`;
    const manager = await startSecretManager({
      caClient,
      key: { type: "ecdsa", curve: "P256" },
      pkcs8: false,
      hosts: [identity],
      ttlSeconds,
      renewal: { ratio: 0.5, jitter: 0.01 },
      output: { directory: at(name, "out"), readableByAll: false },
      fileDebounceMs: 100,
      metrics,
      log,
    });
    opened.add(manager);
    const sdsPath = at(name, "socket");
    opened.add(
      await startSdsServer({ path: sdsPath, source: manager, metrics: declareSdsMetrics(new MetricRegistry()), log }),
    );
    return { identity, manager, sdsPath };
  };

  const [serverWorkload, clientWorkload] = [await startWorkload("server"), await startWorkload("client")];
  const startEnvoy = async (workload: MeshWorkload, role?: SdsEnvoyRole) => {
    const port = await freePort();
    const envoy = opened.add(await runEnvoy(sdsBootstrap(workload.sdsPath, port, role), { logLevel: "info" }));
    return { workload, envoy, port };
  };
  const server = await startEnvoy(serverWorkload);
  const upstream = { upstreamPort: server.port, upstreamIdentity: serverWorkload.identity };
  const client = await startEnvoy(clientWorkload, { side: "client", ...upstream });
  const owned = opened.move();
  return {
    server,
    client,
    rootFile: at("ca", "root-cert.pem"),
    startCa,
    stopCa,
    [Symbol.asyncDispose]: () => owned.close(),
  };
}

/** Plain requests to the client's Envoy, each of which makes one mutual TLS handshake between the two Envoys. */
export function startMeshLoad(mesh: SdsMesh): Load {
  return startLoad(() => fetchOk(`http://127.0.0.1:${mesh.client.port}/`));
}
