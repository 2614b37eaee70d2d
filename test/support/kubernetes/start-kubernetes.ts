import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { errorMessage } from "../../../src/base/coded-error.ts";
import { type Handle, toHandle } from "../../../src/base/handle.ts";
import { httpRequest } from "../../../src/net/http-client/http-request.ts";
import { runProgram } from "../../../src/process/run-program.ts";
import { freePorts } from "../net/free-ports.ts";
import { until } from "../wait/until.ts";
import { type ApiConnection, createApiConnection } from "./api-connection.ts";
import { applyObjects, type Manifest, objectPath } from "./apply-objects.ts";
import { programPath } from "./binaries.ts";
import { type ClusterFiles, kubeconfigText, writeClusterFiles } from "./cluster-files.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";

export interface KubernetesOptions {
  /** Addresses of services; two ranges, comma-separated, for dual stack. */
  readonly serviceRange?: string;
  readonly apiServerFlags?: readonly string[];
  /** State, certificates and logs; a temporary folder, deleted at the stop, when absent. */
  readonly folder?: string;
  /** Made before, with certificates for more than an API server; they decide its folder, address and port. */
  readonly files?: ClusterFiles;
  /** Goes on after the process that started it. */
  readonly isDetached?: boolean;
}

export interface TokenOptions {
  readonly namespace: string;
  readonly account: string;
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number;
  /** A pod that the token is bound to. */
  readonly pod?: { readonly name: string; readonly uid: string };
}

/** etcd and an API server with certificates, service accounts, tokens and RBAC of their own. No controllers and no nodes. */
export interface Kubernetes
  extends Handle,
    Pick<ClusterFiles, "server" | "ca" | "adminToken" | "kubeconfig" | "folder"> {
  readonly port: number;
  readonly caPem: string;
  readonly pids: { readonly etcd: number; readonly apiServer: number };
  /** Requests as the administrator. */
  readonly api: ApiConnection;
  /** Server-side apply, status included. */
  apply(objects: readonly Manifest[]): Promise<void>;
  delete(object: Pick<Manifest, "apiVersion" | "kind" | "metadata">): Promise<void>;
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** A token of a service account (TokenRequest). */
  token(options: TokenOptions): Promise<string>;
  /** A kubeconfig for this user (`token`, `tokenFile`, `exec` ...), in the cluster's folder as text. */
  kubeconfigFor(user: object): string;
  /** The API server stops taking part without closing a connection, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Ends the API server with SIGKILL; `restart` brings it back. */
  kill(): Promise<void>;
  /** A new API server process on the same port and store. */
  restart(): Promise<void>;
  /** etcd forgets all revisions before this moment. */
  compact(): Promise<void>;
  /** A copy of etcd's data, as of this moment. */
  snapshot(): Promise<Snapshot>;
  /** Both servers start again with the data of the snapshot: resource versions go backwards. */
  restore(snapshot: Snapshot): Promise<void>;
}

export interface Snapshot {
  readonly folder: string;
}

const STOP_GRACE_MS = 10_000;
/** On a busy machine with two cores; three to six seconds are usual. */
const START_MS = 120_000;

/** Resolves when the API server is ready and has its first namespace. Needs what `needs("kubernetes")` looks for. */
export async function startKubernetes(options: KubernetesOptions = {}): Promise<Kubernetes> {
  await using opened = new CloseStack();
  const ownFolder = options.files?.folder ?? options.folder;
  const folder = ownFolder ?? mkdtempSync(join(tmpdir(), "pilot-agent-kubernetes-"));
  opened.defer(() => {
    if (ownFolder === undefined) rmSync(folder, { recursive: true, force: true });
  });
  const [freePort = 0, etcdPort = 0, peerPort = 0] = await freePorts(3);
  const files = options.files ?? (await writeClusterFiles(folder, freePort));
  const { port } = files;
  const api = opened.add(createApiConnection(files, files.ca.pem, files.adminToken));
  const isDetached = options.isDetached ?? false;
  const run = (name: "etcd" | "kube-apiserver", args: readonly string[]) =>
    startServerProcess({ name, program: programPath(name), args, logFile: files.file(`${name}.log`), isDetached });
  const startEtcd = () => run("etcd", etcdArguments(files, etcdPort, peerPort));
  const startApiServer = () => run("kube-apiserver", apiServerArguments(files, etcdPort, options));

  let failed: (failure: Error) => void = () => undefined;
  const ended = new Promise<void>((_, reject) => {
    failed = reject;
  });
  const expected = new WeakSet<ServerProcess>();
  const watched = (started: ServerProcess) => {
    started.exited.then((text) => expected.has(started) || failed(new Error(text)));
    return started;
  };
  let etcd = watched(startEtcd());
  opened.defer(() => end(etcd));
  let apiServer = watched(startApiServer());
  opened.defer(() => end(apiServer));
  const end = async (running: ServerProcess, graceMs = 0) => {
    expected.add(running);
    if (graceMs > 0) await running.stop(graceMs);
    else await running.kill();
  };
  await untilReady(api, apiServer, etcd);
  await applyObjects(api, [{ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } }]);

  const etcdRequest = async (path: string, body: object) => {
    const url = `http://127.0.0.1:${etcdPort}/v3/${path}`;
    const answer = await httpRequest({ url, method: "POST", body: JSON.stringify(body), timeoutMs: START_MS });
    if (answer.status !== 200) throw new Error(`etcd: ${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  };
  const beginApiServer = async () => {
    apiServer = watched(startApiServer());
    await untilReady(api, apiServer, etcd);
  };
  let snapshots = 0;
  const owned = opened.move();
  return toHandle({
    folder,
    port,
    server: files.server,
    ca: files.ca,
    caPem: files.ca.pem,
    adminToken: files.adminToken,
    kubeconfig: files.kubeconfig,
    api,
    ended,
    get pids() {
      return { etcd: etcd.pid, apiServer: apiServer.pid };
    },
    apply: (objects: readonly Manifest[]) => applyObjects(api, objects),
    async delete(object: Pick<Manifest, "apiVersion" | "kind" | "metadata">) {
      await api.json({ method: "DELETE", path: await objectPath(api, object) });
    },
    async kubectl(args: readonly string[], input?: string) {
      const full = ["--kubeconfig", files.kubeconfig, ...args];
      const env = { HOME: folder, PATH: process.env.PATH };
      const result = await runProgram(programPath("kubectl"), full, { env, ...(input !== undefined && { input }) });
      if (result.code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${result.output}`);
      return result.stdout;
    },
    async token({ namespace, account, audiences, expirationSeconds = 3600, pod }: TokenOptions) {
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
      const boundObjectRef = pod && { apiVersion: "v1", kind: "Pod", name: pod.name, uid: pod.uid };
      const spec = { expirationSeconds, ...(audiences && { audiences }), ...(boundObjectRef && { boundObjectRef }) };
      const answer = await api.json({ method: "POST", path, body: { spec } });
      return (answer.status as { token: string }).token;
    },
    kubeconfigFor: (user: object) => kubeconfigText(files.server, files.ca.pem, user),
    freeze: () => apiServer.signal("SIGSTOP"),
    thaw: () => apiServer.signal("SIGCONT"),
    kill: () => end(apiServer),
    async restart() {
      if (apiServer.isRunning()) await end(apiServer, STOP_GRACE_MS);
      await beginApiServer();
    },
    async compact() {
      const { header } = await etcdRequest("kv/range", { key: Buffer.from("/").toString("base64"), limit: 1 });
      await etcdRequest("kv/compaction", { revision: header.revision, physical: true });
    },
    async snapshot() {
      snapshots += 1;
      const copy = join(folder, `snapshot-${snapshots}`);
      // Nothing is written while it stands still; what it had not finished is in its log, as after a crash.
      etcd.signal("SIGSTOP");
      try {
        cpSync(join(folder, "etcd"), copy, { recursive: true });
      } finally {
        etcd.signal("SIGCONT");
      }
      return { folder: copy };
    },
    async restore(snapshot: Snapshot) {
      await end(apiServer);
      await end(etcd);
      rmSync(join(folder, "etcd"), { recursive: true });
      cpSync(snapshot.folder, join(folder, "etcd"), { recursive: true });
      etcd = watched(startEtcd());
      await beginApiServer();
    },
    stop: () => owned.close(),
  });
}

async function untilReady(api: ApiConnection, apiServer: ServerProcess, etcd: ServerProcess): Promise<void> {
  const check = async () => {
    for (const program of [etcd, apiServer]) if (!program.isRunning()) throw new Error(await program.exited);
    const ready = await api.ask({ path: "/readyz" }).catch((failure: unknown) => errorMessage(failure));
    if (typeof ready === "string") return ready;
    if (ready.status !== 200) return ready.body;
    return (await api.ask({ path: "/api/v1/namespaces/default" })).status === 200;
  };
  await until("the API server is ready", check, START_MS);
}

function etcdArguments(files: ClusterFiles, port: number, peerPort: number): string[] {
  const client = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    "--name=test",
    `--data-dir=${files.file("etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=test=${peer}`,
    // The data need not survive the machine.
    "--unsafe-no-fsync",
    "--log-level=warn",
  ];
}

function apiServerArguments(
  files: ClusterFiles,
  etcdPort: number,
  { serviceRange = "10.96.0.0/16", apiServerFlags = [] }: KubernetesOptions,
): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--bind-address=${files.address}`,
    `--secure-port=${files.port}`,
    // Must not be loopback. Without a reconciler nothing writes it into the slice of default/kubernetes.
    "--advertise-address=10.250.0.1",
    ...(files.address === "127.0.0.1" ? ["--endpoint-reconciler-type=none"] : []),
    `--tls-cert-file=${files.file("server.crt")}`,
    `--tls-private-key-file=${files.file("server.key")}`,
    `--client-ca-file=${files.file("ca.crt")}`,
    `--token-auth-file=${files.file("tokens.csv")}`,
    "--authorization-mode=Node,RBAC",
    "--allow-privileged=true",
    `--service-cluster-ip-range=${serviceRange}`,
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    `--service-account-key-file=${files.file("accounts.pub")}`,
    `--service-account-signing-key-file=${files.file("accounts.key")}`,
    ...apiServerFlags,
  ];
}
