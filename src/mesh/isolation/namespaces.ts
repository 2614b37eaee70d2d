import { existsSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { runProgram } from "../../process/run-program.ts";
import type { MeshPlan, NetworkPlan, Workload } from "../core/mesh-plan.ts";
import type { MeshState, StateRecord } from "../state/mesh-state.ts";
import { markInterface } from "./network-owner.ts";
import { mustRun } from "./run-tool.ts";

/** Agent and Envoy run as this user; what it sends is not captured again. */
export const PROXY_UID = 1337;

export const RESOLVERS = "/etc/netns";
export const NAMESPACES = "/run/netns";
const INTERFACES = "/sys/class/net";
const BRIDGE = "bridge0";
const LOWEST_PORT = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
/**
 * A bridge without an address of its own takes the lowest of its ports', another one whenever workloads come or go. The others know the
 * old one for ten more seconds, in which no client reaches the control plane.
 */
const BRIDGE_MAC = "02:00:00:00:00:01";

/** Whether something of this slot is left on the machine, whoever made it. */
export function isNetworkTaken({ hub, hostInterface }: NetworkPlan): boolean {
  return existsSync(join(NAMESPACES, hub)) || existsSync(join(INTERFACES, hostInterface));
}

/**
 * A hub namespace with a bridge and one cable to the machine. The machine itself gets that one interface and no route but the interface's
 * own; egress.ts adds what leads further.
 */
export async function createHub(plan: MeshPlan, network: NetworkPlan, state: StateRecord): Promise<void> {
  state.update({ interfaces: [network.hostInterface] });
  await makeSpaces([network.hub], plan, network, state);
  await mustRun("ip", ["-batch", "-"], machineLinks(network));
  await markInterface(network.hostInterface, { name: plan.name, runId: state.current.runId, folder: state.folder });
  await mustRun("ip", ["-n", network.hub, "-batch", "-"], hubLinks(network));
}

/** One namespace per workload, with a cable to the hub. */
export async function createNamespaces(
  workloads: readonly Workload[],
  plan: MeshPlan,
  network: NetworkPlan,
  state: StateRecord,
): Promise<void> {
  if (workloads.length === 0) return;
  await makeSpaces(
    workloads.flatMap(({ netns }) => netns ?? []),
    plan,
    network,
    state,
  );
  await mustRun("ip", ["-batch", "-"], workloads.map((each) => cable(each, network)).join(""));
  await mustRun("ip", ["-n", network.hub, "-batch", "-"], plug(workloads.map(portName)));
  await Promise.all(workloads.map((workload) => bringUp(workload, network)));
}

/** Takes one workload's namespace away while the others go on; says what could not be removed. */
export async function dropNamespace({ netns }: Workload, state: StateRecord): Promise<readonly string[]> {
  if (netns === undefined) return [];
  const gone = state.current.resolverFolders.filter((folder) => [netns, `${netns}-agent`].includes(basename(folder)));
  const problems = await removeNamespaces({ namespaces: [netns], interfaces: [], resolverFolders: gone });
  if (problems.length === 0) {
    // Others are dropped at the same time: what they have removed meanwhile stays removed.
    const { namespaces, resolverFolders } = state.current;
    state.update({
      namespaces: namespaces.filter((name) => name !== netns),
      resolverFolders: resolverFolders.filter((folder) => !gone.includes(folder)),
    });
  }
  return problems;
}

/** Without root the agent asks another server than its application, whose questions are captured. */
function resolverNames(name: string, { rootless, hub }: NetworkPlan): readonly string[] {
  return rootless && name !== hub ? [name, `${name}-agent`] : [name];
}

export function agentResolver({ netns }: Workload): string | undefined {
  return netns === undefined ? undefined : `${netns}-agent`;
}

async function makeSpaces(
  names: readonly string[],
  plan: MeshPlan,
  network: NetworkPlan,
  state: StateRecord,
): Promise<void> {
  const { namespaces, resolverFolders } = state.current;
  // Written down first: a start that is killed at any point leaves a list of everything it may have made.
  state.update({
    namespaces: [...namespaces, ...names],
    resolverFolders: [
      ...resolverFolders,
      ...names.flatMap((name) => resolverNames(name, network)).map((name) => join(network.resolvers, name)),
    ],
  });
  for (const name of names) {
    for (const each of resolverNames(name, network)) {
      const isApp = network.rootless && each === name && name !== network.hub;
      writeResolver(each, plan, network, isApp ? network.appResolver : network.hostAddress);
    }
  }
  await mustRun("ip", ["-batch", "-"], names.map((name) => `netns add ${name}\n`).join(""));
}

/** Removes what the state names; says what could not be removed. Things that are gone already are not failures. */
export async function removeNamespaces(
  state: Pick<MeshState, "namespaces" | "interfaces" | "resolverFolders">,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const attempt = async (args: readonly string[]) => {
    const result = await runProgram("ip", args);
    if (result.code !== 0) problems.push(`ip ${args.join(" ")}: ${result.stderr.trim()}`);
  };
  for (const name of state.interfaces) {
    if (existsSync(join(INTERFACES, name))) await attempt(["link", "del", name]);
  }
  for (const name of state.namespaces) if (existsSync(join(NAMESPACES, name))) await attempt(["netns", "del", name]);
  for (const folder of state.resolverFolders) {
    if (folder.startsWith(`${RESOLVERS}/`)) rmSync(folder, { recursive: true, force: true });
  }
  if (state.resolverFolders.length > 0) removeIfEmpty(RESOLVERS);
  return problems;
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Others have something in it, or it is gone already.
  }
}

/** Processes that live in the namespaces, for the case that they lost their mark. */
export async function namespaceProcesses(namespaces: readonly string[]): Promise<readonly number[]> {
  const lists = await Promise.all(
    namespaces
      .filter((name) => existsSync(join(NAMESPACES, name)))
      .map(async (name) => (await runProgram("ip", ["netns", "pids", name])).stdout.split(/\s+/)),
  );
  return lists
    .flat()
    .filter((word) => word !== "")
    .map(Number);
}

/** Short names work as in a pod: the resolver completes them, and the agent answers; for all others `mesh up` says that they do not exist. */
function writeResolver(name: string, plan: MeshPlan, network: NetworkPlan, server: string): void {
  const folder = join(network.resolvers, name);
  mkdirSync(folder, { recursive: true });
  const search = [`${plan.namespace}.svc.cluster.local`, "svc.cluster.local", "cluster.local"].join(" ");
  const lines = [`nameserver ${server}`, `search ${search}`, "options ndots:5 timeout:2 attempts:2"];
  writeFileSync(join(folder, "resolv.conf"), `${lines.join("\n")}\n`);
  // The machine's own file may name services differently.
  writeFileSync(join(folder, "hosts"), `127.0.0.1 localhost\n::1 localhost\n${network.hostAddress} host\n`);
}

function machineLinks({ hostInterface, hostAddress, prefixLength, hub }: NetworkPlan): string {
  return [
    `link add ${hostInterface} type veth peer name machine netns ${hub}`,
    `addr add ${hostAddress}/${prefixLength} dev ${hostInterface}`,
    `link set ${hostInterface} up`,
    "",
  ].join("\n");
}

function cable(workload: Workload, { hub }: NetworkPlan): string {
  return `link add eth0 netns ${workload.netns} type veth peer name ${portName(workload)} netns ${hub}\n`;
}

function portName({ number }: Workload): string {
  return `port${number}`;
}

function plug(ports: readonly string[]): string {
  return ports.map((port) => `link set ${port} master ${BRIDGE}\nlink set ${port} up\n`).join("");
}

function hubLinks({ hubAddress, prefixLength }: NetworkPlan): string {
  return [
    "link set lo up",
    `link add ${BRIDGE} address ${BRIDGE_MAC} type bridge`,
    `addr add ${hubAddress}/${prefixLength} dev ${BRIDGE}`,
    `link set ${BRIDGE} up`,
    plug(["machine"]),
  ].join("\n");
}

/**
 * The default route gives virtual addresses a way out; the capture turns them aside before they would take it. What is left leads to the
 * machine, which passes it on where there is egress.
 */
async function bringUp(
  { netns = "", address, kind }: Workload,
  { prefixLength, hostAddress }: NetworkPlan,
): Promise<void> {
  const lines = [
    "link set lo up",
    `addr add ${address}/${prefixLength} dev eth0`,
    "link set eth0 up",
    `route add default via ${hostAddress}`,
    "",
  ];
  await mustRun("ip", ["-n", netns, "-batch", "-"], lines.join("\n"));
  // A gateway's ports may be any, and its Envoy is not root; as in a pod.
  if (kind === "gateway") await mustRun("ip", ["netns", "exec", netns, "sh", "-c", `echo 0 > ${LOWEST_PORT}`]);
}
