import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { CloseStack } from "../../../../src/base/close-stack.ts";
import { runProgram } from "../../../../src/process/run-program.ts";
import { until } from "../../wait/until.ts";
import { type ServerProcess, startServerProcess } from "../server-process.ts";
import { CGROUP, NETWORK } from "./network.ts";

/** The namespaces that a node lives in, and its link to this machine. */
export interface World {
  /** The process whose end ends everything in it. */
  readonly holder: ServerProcess;
  /** In front of a program's words. */
  readonly enter: readonly string[];
  stop(): Promise<void>;
}

const CGROUPS = "/sys/fs/cgroup";
const INIT = resolve(import.meta.dirname, "../../../../bin/pilot-agent-init");

export async function startWorld(folder: string, isDetached: boolean): Promise<World> {
  await using opened = new CloseStack();
  if ((await runProgram("ip", ["link", "show", NETWORK.link])).code === 0)
    throw new Error(
      `a cluster with a node runs on this machine already (link ${NETWORK.link}): npm run kubernetes -- stop`,
    );
  opened.defer(removeWorld);
  makeCgroups();
  const namespaces = [
    "--mount",
    "--propagation",
    "private",
    "--net",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
  ];
  const holder = startServerProcess({
    name: "node",
    program: "unshare",
    args: [...namespaces, "sh", join(import.meta.dirname, "node-world.sh"), INIT],
    logFile: join(folder, "node.log"),
    isDetached,
  });
  opened.defer(() => holder.kill());
  const init = await findInit(holder);
  const enter = ["nsenter", `--target=${init}`, "--mount", "--net", "--pid", "--"];
  await until("the node's folders are its own", async () => {
    if (!holder.isRunning()) throw new Error(await holder.exited);
    return readFileSync(`/proc/${init}/mounts`, "utf8").includes("tmpfs /var/lib/cni") || "no mounts";
  });
  await connect(init);
  const owned = opened.move();
  return { holder, enter, stop: () => owned.close() };
}

/** A veth pair, and routes for what is behind it; they go with the namespace. */
async function connect(init: number): Promise<void> {
  const { host, node, prefix, pods, services, link } = NETWORK;
  const inside = ["nsenter", `--target=${init}`, "--net", "ip"];
  await succeed(["ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", `${init}`]);
  await succeed(["ip", "addr", "add", `${host}/${prefix}`, "dev", link]);
  await succeed(["ip", "link", "set", link, "up"]);
  await succeed([...inside, "addr", "add", `${node}/${prefix}`, "dev", "eth0"]);
  await succeed([...inside, "link", "set", "eth0", "up"]);
  await succeed([...inside, "route", "add", "default", "via", host]);
  for (const range of [pods, services]) await succeed(["ip", "route", "add", range, "via", node, "dev", link]);
}

/** What outlives the namespaces. Also for a world whose owner was killed. */
export async function removeWorld(): Promise<void> {
  await runProgram("ip", ["link", "delete", NETWORK.link]);
  const roots = hierarchies().map((hierarchy) => join(hierarchy, CGROUP));
  // Its processes have just been killed; the kernel needs a moment.
  await until("the node's control groups are removed", () => {
    for (const root of roots) removeGroups(root);
    return roots.every((root) => !existsSync(root));
  });
}

/** What of a node this machine has: none of it once it is stopped. */
export async function leftOvers(): Promise<string[]> {
  const { link, node } = NETWORK;
  const links = (await runProgram("ip", ["-oneline", "link"])).stdout.split("\n").filter((line) => line.includes(link));
  const routes = (await runProgram("ip", ["route"])).stdout.split("\n").filter((line) => line.includes(node));
  const groups = hierarchies()
    .map((hierarchy) => join(hierarchy, CGROUP))
    .filter((group) => existsSync(group));
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .filter((line) => /containerd|kubelet/.test(line));
  return [...links, ...routes, ...groups, ...mounts];
}

function removeGroups(group: string): void {
  if (!existsSync(group)) return;
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroups(join(group, entry.name));
  try {
    rmdirSync(group);
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== "EBUSY") throw failure;
  }
}

function makeCgroups(): void {
  for (const hierarchy of hierarchies()) {
    const group = join(hierarchy, CGROUP);
    mkdirSync(group, { recursive: true });
    // A new group of this controller has no processors and no memory.
    for (const name of ["cpuset.cpus", "cpuset.mems"])
      if (existsSync(join(hierarchy, name))) writeFileSync(join(group, name), readFileSync(join(hierarchy, name)));
  }
}

/** One per controller (cgroup v1), or the one of cgroup v2. */
function hierarchies(): string[] {
  if (existsSync(join(CGROUPS, "cgroup.controllers"))) return [CGROUPS];
  return readdirSync(CGROUPS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(CGROUPS, entry.name, "cgroup.procs")))
    .map((entry) => join(CGROUPS, entry.name));
}

async function findInit(holder: ServerProcess): Promise<number> {
  let found = 0;
  await until("the node's first process runs", async () => {
    if (!holder.isRunning()) throw new Error(await holder.exited);
    found = Number(readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, "utf8").trim());
    return found > 0;
  });
  return found;
}

async function succeed([program = "", ...args]: readonly string[]): Promise<void> {
  const { code, output, error } = await runProgram(program, args);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? output.trim()}`);
}
