import { connect } from "node:net";
import type { HostPort } from "../../../src/net/host-port.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { startServerProcess } from "../../support/kubernetes/server-process.ts";
import { freePorts } from "../../support/net/free-ports.ts";
import { until } from "../../support/wait/until.ts";

/** A control plane of another make, with a directory of rules that is written to. */
export interface Peer extends AsyncDisposable {
  readonly address: HostPort;
  write(file: string, text: string): void;
}

/** What stock Envoys do not have is off, and nothing is written that another would have to write as well. */
const ENVIRONMENT = {
  POD_NAME: "peer-0",
  POD_NAMESPACE: "istio-system",
  CLUSTER_ID: "Kubernetes",
  REVISION: "default",
  PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS: "false",
  PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION: "false",
  PILOT_ENABLE_IP_AUTOALLOCATE: "false",
  PILOT_ENABLE_ALPN_FILTER: "false",
  PILOT_ENABLE_METADATA_EXCHANGE: "false",
  PILOT_DISABLE_MX_ALPN: "true",
  PILOT_DEBOUNCE_AFTER: "10ms",
};

/** `program` takes the words of `pilot-discovery`. It reads rules of files alone, but needs an API server to start. */
export async function startPeer(program: string, kubeconfig: string, mesh: object = {}): Promise<Peer> {
  const folder = temporaryFolder();
  const [http = 0, grpc = 0, monitoring = 0] = await freePorts(3);
  folder.write("config/none.yaml", "");
  const sources = [{ address: `fs://${folder.file("config")}` }, { address: "k8s://" }];
  const files = {
    mesh: folder.write("mesh.yaml", { ...mesh, configSources: sources }),
    networks: folder.write("networks.yaml", ""),
  };
  const process = startServerProcess({
    name: program,
    program,
    args: [
      ...["discovery", "--registries=", `--meshConfig=${files.mesh}`, `--networksConfig=${files.networks}`],
      ...[`--kubeconfig=${kubeconfig}`, "--domain=cluster.local", "--secureGRPCAddr=", "--httpsAddr="],
      ...[`--httpAddr=127.0.0.1:${http}`, `--grpcAddr=127.0.0.1:${grpc}`, `--monitoringAddr=127.0.0.1:${monitoring}`],
    ],
    logFile: folder.file("log"),
    isDetached: false,
    env: { ...ENVIRONMENT, ROOT_CA_DIR: folder.file("ca") },
  });
  const address = { host: "127.0.0.1", port: grpc };
  const stop = async () => {
    await process.stop(5000);
    folder[Symbol.dispose]();
  };
  try {
    await until(`${program} listens`, async () => {
      if (!process.isRunning()) throw new Error(await process.exited);
      return isListening(address);
    });
  } catch (failure) {
    await stop();
    throw failure;
  }
  return { address, write: (file, text) => void folder.write(`config/${file}`, text), [Symbol.asyncDispose]: stop };
}

function isListening({ host, port }: HostPort): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once("connect", () => socket.destroy()).once("close", (failed) => resolve(!failed));
    socket.once("error", () => undefined);
  });
}
