import type { Server, Socket } from "node:net";
import { spawnProgram } from "../../process/spawn-program.ts";
import { isProxyless, type MeshPlan, type Workload } from "../core/mesh-plan.ts";
import { closeListener, listen } from "../process/free-ports.ts";
import type { AgentProgram } from "../process/shared-program.ts";
import { RUN_VARIABLE } from "../state/mesh-state.ts";
import { type Machine, OWN_NETWORK } from "./machine.ts";

/**
 * Ways from this machine's loopback address to pages that answer only callers of the same namespace: Envoy's admin pages and the control
 * plane's debug pages. Without namespaces they are there already.
 */
export interface Doors {
  /** http://127.0.0.1:PORT */
  admin(workload: Workload): string;
  controlPlane(): string;
  /** Opens what the plan has more and closes what it has less; the others go on. */
  follow(plan: MeshPlan): Promise<void>;
  stop(): Promise<void>;
}

interface DoorsOptions {
  readonly node: AgentProgram["node"];
  readonly runId: string;
  readonly machine: Machine;
}

interface Door {
  /** On the machine, and where `mesh up` itself is when that is somewhere else. */
  readonly servers: readonly Server[];
  readonly port: number;
  readonly sockets: ReadonlySet<Socket>;
}

export async function startDoors(plan: MeshPlan, options: DoorsOptions): Promise<Doors> {
  const open = new Map<string, Door>();
  const urlOf = (netns: string | undefined, port: number) =>
    `http://127.0.0.1:${netns === undefined ? port : (open.get(netns)?.port ?? 0)}`;
  let current = plan;
  const follow = async (next: MeshPlan) => {
    current = next;
    const wanted = new Map<string, number>();
    for (const workload of next.workloads) {
      const { netns, ports } = workload;
      if (netns !== undefined && !isProxyless(next, workload)) wanted.set(netns, ports.admin);
    }
    const { netns: hub, ports } = next.controlPlane;
    if (hub !== undefined) wanted.set(hub, ports.http);
    for (const [netns, door] of open) {
      if (wanted.has(netns)) continue;
      open.delete(netns);
      await close(door);
    }
    for (const [netns, port] of wanted) {
      if (!open.has(netns)) open.set(netns, await openDoor(netns, port, options));
    }
  };
  const stop = async () => void (await Promise.all([...open.values()].map(close)));
  try {
    await follow(plan);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return {
    admin: ({ netns, ports }) => urlOf(netns, ports.admin),
    controlPlane: () => urlOf(current.controlPlane.netns, current.controlPlane.ports.http),
    follow,
    stop,
  };
}

/** Runs inside: a socket belongs to the namespace of the process that makes it. Ends with the connection, with 1 where there is none. */
const inside = (port: number) =>
  `const{Socket,connect}=require("net");const s=connect(${port},"127.0.0.1");new Socket({fd:0}).pipe(s).pipe(new Socket({fd:1}))`;

/** A process per connection, which people and commands make now and then: one that waits in every namespace would cost its memory always. */
async function openDoor(netns: string, port: number, { node, runId, machine }: DoorsOptions): Promise<Door> {
  const server = await machine.listen(0, "127.0.0.1");
  const address = server.address();
  const own = typeof address === "object" && address !== null ? address.port : 0;
  // The mesh asks its control plane by the address that it shows.
  const servers = machine === OWN_NETWORK ? [server] : [server, await listen(own, "127.0.0.1")];
  const sockets = new Set<Socket>();
  const pass = (socket: Socket) => {
    sockets.add(socket);
    const words = ["netns", "exec", netns, node, "-e", inside(port)];
    const child = spawnProgram("ip", words, {
      env: { PATH: "/usr/sbin:/sbin:/usr/bin:/bin", [RUN_VARIABLE]: runId },
      stdio: ["pipe", "pipe", "ignore"],
    });
    child.on("error", () => socket.destroy());
    child.on("exit", () => socket.end());
    child.stdin?.on("error", () => undefined);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sockets.delete(socket);
      child.kill("SIGKILL");
    });
    if (child.stdin) socket.pipe(child.stdin);
    child.stdout?.pipe(socket);
  };
  for (const each of servers) {
    each.on("connection", pass);
    each.unref();
  }
  return { servers, port: own, sockets };
}

async function close({ servers, sockets }: Door): Promise<void> {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.map(closeListener));
}
