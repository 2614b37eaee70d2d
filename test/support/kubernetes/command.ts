import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { identifyProcess, isAlive, type ProcessIdentity } from "../../../src/process/process-identity.ts";
import { missingFor } from "../needs.ts";
import { signalProcess } from "../process/signal-process.ts";
import { until } from "../wait/until.ts";
import { openClusterApi } from "./api-connection.ts";
import { applyObjects, type Manifest } from "./apply-objects.ts";
import { BINARIES, type Binary, isBinary } from "./binaries.ts";
import { getBinaries } from "./build-binaries.ts";
import { controlledObjects } from "./controlled-objects.ts";
import { importImage } from "./node/import-image.ts";
import { startCluster } from "./node/start-cluster.ts";
import { removeWorld } from "./node/start-world.ts";
import { startKubernetes } from "./start-kubernetes.ts";

const USAGE = `npm run kubernetes -- get [kube|etcd|consul|helm ...]   build what is missing into the user's cache (default: kube etcd)
npm run kubernetes -- start [NAME]                      etcd and an API server that run until stopped; prints their kubeconfig
npm run kubernetes -- apply NAME NAMESPACE FILE...       put manifests into it, with the pods and slices that controllers would make
npm run kubernetes -- start --node                      a whole cluster with one node that runs pods, as root; one per machine
npm run kubernetes -- image ARCHIVE                     load an image (npm run image, docker save) into the node
npm run kubernetes -- stop [NAME|--node]                end them and delete their state`;

/** What is built when nothing is named: all that the suite "kubernetes" needs. */
const DEFAULT: readonly Binary[] = ["kube", "etcd"];

/** Returns the exit code. */
export async function runCommand([verb = "", ...names]: readonly string[]): Promise<number> {
  if (verb === "get") return get(names);
  if (verb === "image") return image(names);
  const withNode = names[0] === "--node";
  const [name = "default", ...rest] = withNode ? ["node", ...names.slice(1)] : names;
  const isComplete = verb === "apply" ? rest.length > 1 : rest.length === 0 && (verb === "start" || verb === "stop");
  if (!/^[a-z0-9-]{1,40}$/.test(name) || !isComplete) {
    console.error(USAGE);
    return 2;
  }
  const folder = folderOf(name);
  if (verb === "apply") return apply(folder, rest);
  return verb === "start" ? start(folder, withNode) : stop(folder);
}

function folderOf(name: string): string {
  return join(tmpdir(), `pilot-agent-kubernetes-${userInfo().uid}-${name}`);
}

async function get(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !isBinary(name));
  if (unknown.length > 0) {
    console.error(`unknown: ${unknown.join(", ")} (there are: ${Object.keys(BINARIES).join(", ")})`);
    return 2;
  }
  await getBinaries(names.length === 0 ? DEFAULT : names.filter(isBinary), console.log);
  return 0;
}

async function start(folder: string, withNode: boolean): Promise<number> {
  const missing = missingFor(withNode ? "cluster" : "kubernetes");
  if (missing !== undefined) {
    console.error(missing);
    return 1;
  }
  const running = await recordedProcesses(folder);
  if (running.length > 0) {
    console.log(join(folder, "admin.kubeconfig"));
    return 0;
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  const cluster = withNode ? await startCluster({ folder, isDetached: true }) : undefined;
  const kubernetes = cluster ?? (await startKubernetes({ folder, isDetached: true }));
  const { etcd, apiServer } = kubernetes.pids;
  const pids = [...(cluster?.processes ?? []).map(({ pid }) => pid), apiServer, etcd];
  writeFileSync(join(folder, "processes.json"), JSON.stringify(pids.map(identifyProcess)));
  kubernetes.api.close();
  console.log(kubernetes.kubeconfig);
  return 0;
}

async function apply(folder: string, [namespace = "", ...files]: readonly string[]): Promise<number> {
  if ((await recordedProcesses(folder)).length === 0) {
    console.error("no API server runs under this name: npm run kubernetes -- start NAME");
    return 1;
  }
  const api = openClusterApi(folder);
  try {
    const manifests = files.flatMap((file) => readManifests(file));
    const pods = (await api.json({ path: "/api/v1/pods" })).items as readonly unknown[];
    await applyObjects(api, controlledObjects(manifests, namespace, pods.length));
  } finally {
    api.close();
  }
  return 0;
}

function readManifests(file: string): readonly Manifest[] {
  return parseAllDocuments(readFileSync(file, "utf8")).flatMap(
    (document) => (document.toJS() as Manifest | null) ?? [],
  );
}

async function image(archives: readonly string[]): Promise<number> {
  const socket = join(folderOf("node"), "containerd.sock");
  if (archives.length === 0 || !existsSync(socket)) {
    console.error(archives.length === 0 ? USAGE : "no node runs: npm run kubernetes -- start --node");
    return archives.length === 0 ? 2 : 1;
  }
  for (const archive of archives) await importImage(socket, archive);
  return 0;
}

async function stop(folder: string): Promise<number> {
  for (const running of await recordedProcesses(folder)) {
    signalProcess(running.pid, "SIGKILL");
    await until(`process ${running.pid} has ended`, () => !isAlive(running));
  }
  if (existsSync(join(folder, "node.log"))) await removeWorld();
  rmSync(folder, { recursive: true, force: true });
  return 0;
}

/** Those that are still the ones that were started: a number may be another process by now. */
async function recordedProcesses(folder: string): Promise<ProcessIdentity[]> {
  const file = join(folder, "processes.json");
  if (!existsSync(file)) return [];
  const recorded: (ProcessIdentity | null)[] = JSON.parse(readFileSync(file, "utf8"));
  return recorded.filter((identity) => identity !== null && isAlive(identity)) as ProcessIdentity[];
}
