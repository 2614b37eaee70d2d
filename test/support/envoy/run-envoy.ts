import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, openSync } from "node:fs";
import { request } from "node:http";
import { type TemporaryFolder, temporaryFolder } from "../files/temporary-folder.ts";
import { envoyPath } from "../needs.ts";
import type { Netns } from "../netns/netns.ts";
import { until } from "../wait/until.ts";

/** A stock Envoy that runs until it is disposed; then its process has exited. */
export interface RunningEnvoy extends AsyncDisposable {
  readonly pid: number;
  /** Body of an admin answer. Rejects with what Envoy logged when it has exited. */
  admin(path: string, method?: string): Promise<string>;
  /** Sum of the statistics whose name contains this; 0 while there are none. */
  stat(name: string): Promise<number>;
  isReady(): Promise<boolean>;
  /** Names of the dynamic clusters and listeners in use: their endpoints, routes and secrets have arrived. */
  activeNames(): Promise<{ readonly clusters: readonly string[]; readonly listeners: readonly string[] }>;
  /** Counters of rejected updates that are not 0, as `name: count`. */
  rejections(): Promise<readonly string[]>;
  /** Everything it logged so far. */
  output(): string;
}

interface DumpEntry {
  readonly name?: string;
  readonly cluster?: { readonly name: string };
  readonly active_state?: object;
}

export interface RunEnvoyOptions {
  readonly netns?: Netns;
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly logLevel?: string;
}

/**
 * Starts Envoy with this bootstrap, to which an admin on a unix socket of its own is added: no two Envoys meet on a port, and the socket
 * is reachable from every network namespace. Resolves when the admin answers.
 */
export async function runEnvoy(bootstrap: object, options: RunEnvoyOptions = {}): Promise<RunningEnvoy> {
  const folder = temporaryFolder({ isShared: true });
  if (options.user !== undefined) chmodSync(folder.path, 0o777);
  const admin = { address: { pipe: { path: folder.file("admin.sock") } } };
  const config = folder.write("envoy.json", { ...bootstrap, admin });
  const child = spawnLogged(folder, command(config, options));
  const ended = once(child, "exit");
  const output = () => folder.read("envoy.log");
  const ask = async (path: string, method = "GET") => {
    try {
      return await askAdmin(folder.file("admin.sock"), path, method);
    } catch (thrown) {
      if (!hasExited(child)) throw thrown;
      throw new Error(`Envoy exited (${child.signalCode ?? child.exitCode}): ${output().slice(-3000)}`);
    }
  };
  const dump = async (resource: string) => {
    const { body } = await ask(`/config_dump?resource=${resource}`);
    return (JSON.parse(body) as { configs?: readonly DumpEntry[] }).configs ?? [];
  };
  const envoy: RunningEnvoy = {
    pid: child.pid ?? 0,
    admin: async (path, method) => (await ask(path, method)).body,
    stat: async (name) => {
      const { body } = await ask(`/stats?filter=${encodeURIComponent(name)}`);
      return body.split("\n").reduce((sum, line) => sum + (Number(line.split(": ")[1]) || 0), 0);
    },
    isReady: async () => (await ask("/ready")).status === 200,
    activeNames: async () => {
      const clusters = await dump("dynamic_active_clusters");
      const listeners = await dump("dynamic_listeners");
      return {
        clusters: clusters.map(({ cluster }) => cluster?.name ?? ""),
        listeners: listeners.filter(({ active_state }) => active_state !== undefined).map(({ name = "" }) => name),
      };
    },
    rejections: async () => {
      const { body } = await ask("/stats?filter=update_rejected");
      return body.split("\n").filter((line) => /: [1-9]/.test(line));
    },
    output,
    async [Symbol.asyncDispose]() {
      if (!hasExited(child)) child.kill("SIGKILL");
      await ended;
      folder[Symbol.dispose]();
    },
  };
  try {
    await until("Envoy's admin answers", () => envoy.admin("/server_info").then(() => undefined));
  } catch (thrown) {
    await envoy[Symbol.asyncDispose]();
    throw thrown;
  }
  return envoy;
}

/** "ok", or the reason Envoy gives for refusing the bootstrap (a document, or the path of one) in its validation mode. */
export async function envoyVerdict(bootstrap: object | string, ...flags: readonly string[]): Promise<string> {
  using folder = temporaryFolder();
  const config = typeof bootstrap === "string" ? bootstrap : folder.write("envoy.json", bootstrap);
  const words = ["--mode", "validate", "-c", config, "-l", "error", "--disable-hot-restart", "--concurrency", "1"];
  const child = spawnLogged(folder, [requireEnvoy(), ...words, ...flags]);
  const [code] = await once(child, "exit");
  return code === 0 ? "ok" : folder.read("envoy.log").replaceAll(/\s+/g, " ");
}

function command(config: string, { netns, user, logLevel = "warning" }: RunEnvoyOptions): readonly string[] {
  const identity = user && ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  const flags = ["--concurrency", "1", "--disable-hot-restart", "--drain-time-s", "1"];
  return [
    ...(netns ? ["ip", "netns", "exec", netns.name] : []),
    ...(identity ?? []),
    ...[requireEnvoy(), "-c", config, "-l", logLevel, ...flags],
  ];
}

function requireEnvoy(): string {
  const path = envoyPath();
  if (path === undefined) throw new Error('no Envoy; the test has to say needs("envoy")');
  return path;
}

/** Its output goes to a file: access logs open /dev/stdout again, which is impossible with the socket that Node makes of a pipe. */
function spawnLogged(folder: TemporaryFolder, [program = "", ...args]: readonly string[]): ChildProcess {
  const log = openSync(folder.file("envoy.log"), "a", 0o666);
  try {
    return spawn(program, args, { cwd: folder.path, stdio: ["ignore", log, log] });
  } finally {
    closeSync(log);
  }
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function askAdmin(socketPath: string, path: string, method: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, method, agent: false, timeout: 30_000 }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("error", reject).on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    const late = Object.assign(new Error("Envoy's admin does not answer within 30 s"), { code: "no-answer" });
    asked.on("timeout", () => asked.destroy(late));
    asked.on("error", reject).end();
  });
}
