import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { identifyProcess, isAlive, type ProcessIdentity } from "../../../src/process/process-identity.ts";
import { signalProcess } from "../process/signal-process.ts";
import { until } from "../wait/until.ts";
import { createApiConnection } from "./api-connection.ts";
import { applyObjects, type Manifest } from "./apply-objects.ts";
import { BINARIES, type Binary, hasBinary, isBinary } from "./binaries.ts";
import { getBinaries } from "./build-binaries.ts";
import { controlledObjects } from "./controlled-objects.ts";
import { startKubernetes } from "./start-kubernetes.ts";

const USAGE = `npm run kubernetes -- get [kube|etcd|consul|helm ...]   build what is missing into the user's cache (default: kube etcd)
npm run kubernetes -- start [NAME]                      etcd and an API server that run until stopped; prints their kubeconfig
npm run kubernetes -- apply NAME NAMESPACE FILE...       put manifests into it, with the pods and slices that controllers would make
npm run kubernetes -- stop [NAME]                       end them and delete their state`;

/** What is built when nothing is named: all that the suite "kubernetes" needs. */
const DEFAULT: readonly Binary[] = ["kube", "etcd"];

/** Returns the exit code. */
export async function runCommand([verb = "", ...names]: readonly string[]): Promise<number> {
  if (verb === "get") return get(names);
  const [name = "default", ...rest] = names;
  const isComplete = verb === "apply" ? rest.length > 1 : rest.length === 0 && (verb === "start" || verb === "stop");
  if (!/^[a-z0-9-]{1,40}$/.test(name) || !isComplete) {
    console.error(USAGE);
    return 2;
  }
  const folder = join(tmpdir(), `pilot-agent-kubernetes-${userInfo().uid}-${name}`);
  if (verb === "apply") return apply(folder, rest);
  return verb === "start" ? start(folder) : stop(folder);
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

async function start(folder: string): Promise<number> {
  if (!DEFAULT.every(hasBinary)) {
    console.error("the binaries are missing: npm run kubernetes -- get");
    return 1;
  }
  const running = await recordedProcesses(folder);
  if (running.length > 0) {
    console.log(join(folder, "admin.kubeconfig"));
    return 0;
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  const kubernetes = await startKubernetes({ folder, isDetached: true });
  const { etcd, apiServer } = kubernetes.pids;
  writeFileSync(join(folder, "processes.json"), JSON.stringify([apiServer, etcd].map(identifyProcess)));
  kubernetes.api.close();
  console.log(kubernetes.kubeconfig);
  return 0;
}

async function apply(folder: string, [namespace = "", ...files]: readonly string[]): Promise<number> {
  if ((await recordedProcesses(folder)).length === 0) {
    console.error("no API server runs under this name: npm run kubernetes -- start NAME");
    return 1;
  }
  const api = createApiConnection(...connectionOf(folder));
  try {
    const manifests = files.flatMap((file) => readManifests(file));
    const pods = (await api.json({ path: "/api/v1/pods" })).items as readonly unknown[];
    await applyObjects(api, controlledObjects(manifests, namespace, pods.length));
  } finally {
    api.close();
  }
  return 0;
}

function connectionOf(folder: string): [port: number, ca: string, token: string] {
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const { port } = new URL(/"server":"([^"]+)"/.exec(read("admin.kubeconfig"))?.[1] ?? "");
  return [Number(port), read("ca.crt"), read("tokens.csv").split(",")[0] ?? ""];
}

function readManifests(file: string): readonly Manifest[] {
  return parseAllDocuments(readFileSync(file, "utf8")).flatMap(
    (document) => (document.toJS() as Manifest | null) ?? [],
  );
}

async function stop(folder: string): Promise<number> {
  for (const running of await recordedProcesses(folder)) {
    signalProcess(running.pid, "SIGKILL");
    await until(`process ${running.pid} has ended`, () => !isAlive(running));
  }
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
