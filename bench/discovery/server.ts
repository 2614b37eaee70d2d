import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../../test/support/net/free-ports.ts";
import { writeServices } from "./mesh-files.ts";

/** A control plane to measure: a process of ours or of a peer, or one that runs elsewhere on this machine. */
export interface MeasuredServer extends AsyncDisposable {
  readonly target: string;
  readonly configDir: string;
  /** What its process used so far; undefined when the process is not known. */
  usage(): Usage | undefined;
}

export interface Usage {
  /** Megabytes. */
  readonly rss: number;
  readonly peakRss: number;
  readonly cpuMs: number;
}

/** `program` takes istiod's flags. */
export async function startServer(program: string, services: number): Promise<MeasuredServer> {
  const folder = mkdtempSync(join(tmpdir(), "discovery-bench-"));
  const configDir = join(folder, "config");
  writeServices(configDir, services);
  const started = await startControlPlane(program, folder, ["--registries=", `--configDir=${configDir}`]);
  return { configDir, ...started, usage: () => usageOf(started.pid) };
}

/** A control plane as a process, once its xDS port is open. */
export interface ControlPlane extends AsyncDisposable {
  readonly pid: number;
  readonly target: string;
  /** From its spawn to the open port. */
  readonly readyMs: number;
}

/** `folder` is its own and goes with it. */
export async function startControlPlane(
  program: string,
  folder: string,
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ControlPlane> {
  const [http = 0, grpc = 0, monitoring = 0] = await freePorts(3);
  const args = [
    "discovery",
    ...flags,
    `--meshConfig=${join(folder, "mesh.yaml")}`,
    `--httpAddr=127.0.0.1:${http}`,
    `--grpcAddr=127.0.0.1:${grpc}`,
    "--secureGRPCAddr=",
    "--httpsAddr=",
    `--monitoringAddr=127.0.0.1:${monitoring}`,
  ];
  const own = { PATH: process.env.PATH, ROOT_CA_DIR: join(folder, "ca"), POD_NAMESPACE: "istio-system", ...env };
  const begin = performance.now();
  const child = spawn(program, args, { cwd: folder, stdio: "ignore", env: own });
  await untilOpen(child, grpc);
  return {
    pid: child.pid ?? 0,
    target: `127.0.0.1:${grpc}`,
    readyMs: performance.now() - begin,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      const patience = setTimeout(() => child.kill("SIGKILL"), 5000);
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      clearTimeout(patience);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A server that somebody else started and that watches `configDir`. */
export function useServer(
  target: string,
  configDir: string,
  pid: number | undefined,
  services: number,
): MeasuredServer {
  writeServices(configDir, services);
  return {
    target,
    configDir,
    usage: () => (pid === undefined ? undefined : usageOf(pid)),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Ticks of a hundredth of a second. */
const TICK_MS = 10;

function usageOf(pid: number): Usage {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (key: string) => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    rss: megabytes("VmRSS"),
    peakRss: megabytes("VmHWM"),
    cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
  };
}

/** Its port is open once everything is loaded. */
async function untilOpen(child: ChildProcess, port: number): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const socket = connect(port, "127.0.0.1");
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (isOpen) return;
    if (Date.now() > deadline) throw new Error("the server does not listen");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
