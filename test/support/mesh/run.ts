import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { askStatus } from "../../../src/mesh/control-client.ts";
import type { MeshStatus } from "../../../src/mesh/mesh-status.ts";
import { markedProcesses } from "../../../src/mesh/process/mesh-processes.ts";
import { type MeshState, RUN_VARIABLE } from "../../../src/mesh/state/mesh-state.ts";
import { portOwners } from "../net/port-owners.ts";
import { PROGRAM } from "../process/program.ts";
import { until } from "../wait/until.ts";

export interface MeshRunOptions {
  /** Text of the mesh file; the demo when absent. */
  readonly file?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Words in front of the program, for example to become another user. */
  readonly wrapper?: readonly string[];
  readonly program?: string;
  /** The demo's is its own. */
  readonly name?: string;
  /** The state folder lies below it. */
  readonly folder?: string;
}

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `mesh up` as a user would run it, in a folder of its own. */
export interface MeshRun extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly folder: string;
  readonly stateFolder: string;
  /** Exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
  output(): string;
  /** Resolves when all workloads are ready; rejects with the output when `mesh up` ends before. */
  untilUp(): Promise<void>;
  /** Another command of the program about this mesh. */
  cli(...words: readonly string[]): Promise<CliResult>;
  /** As `mesh status` gets it, without the time of a process for each question. */
  status(): Promise<MeshStatus>;
  state(): MeshState;
  write(name: string, text: string): string;
}

let count = 0;

/**
 * What `mesh apply` of rule objects reported to stderr, as lines without the one that says that it waits: on a slow machine it appears
 * after some seconds.
 */
export function complaints({ stderr }: Pick<CliResult, "stderr">): readonly string[] {
  return stderr.split("\n").filter((line) => line !== "" && line !== "waiting until every proxy has acknowledged it");
}

export function startMeshRun(options: MeshRunOptions = {}): MeshRun {
  count += 1;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "mesh-run-"));
  chmodSync(folder, 0o777);
  const name = options.name ?? (options.file === undefined ? "shop" : `t${process.pid}-${count}`);
  const states = join(folder, "state");
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    return join(folder, path);
  };
  if (options.file !== undefined) write("mesh.yaml", options.file);
  for (const [path, text] of Object.entries(options.files ?? {})) write(path, text);
  const output = openSync(join(folder, `output-${count}`), "w");
  const target = ["--name", name, "--state-dir", states];
  const what = options.file === undefined ? ["--demo"] : ["-f", "mesh.yaml"];
  const program = options.program ?? PROGRAM;
  const words = [...(options.wrapper ?? []), program, "mesh", "up", ...what, ...target, ...(options.args ?? [])];
  const outputFile = join(folder, `output-${count}`);
  const child = spawn(words[0] ?? "", words.slice(1), {
    cwd: folder,
    stdio: ["ignore", output, output],
    env: { ...process.env, ...options.env },
  });
  closeSync(output);
  let ended: number | string | undefined;
  const exited = new Promise<number | string>((done) =>
    child.once("exit", (code, signal) => {
      ended = code ?? signal ?? "unknown";
      done(ended);
    }),
  );
  const cli = (...given: readonly string[]) => {
    const split = given.indexOf("--");
    const at = split === -1 ? given.length : split;
    const call = [program, "mesh", ...given.slice(0, at), ...target, ...given.slice(at)];
    return execute([...(options.wrapper ?? []), ...call], folder, options.env);
  };
  const run: MeshRun = {
    child,
    folder,
    stateFolder: join(states, name),
    exited,
    output: () => readFileSync(outputFile, "utf8"),
    async untilUp() {
      await until(() => {
        if (run.output().includes("Ctrl-C ends everything")) return undefined;
        if (ended !== undefined) throw new Error(`mesh up ended with ${ended}: ${run.output()}`);
        return `not up yet: ${run.output()}`;
      }, 60_000);
    },
    cli,
    status: () => askStatus(run.state()),
    state: () => JSON.parse(readFileSync(join(states, name, "state.json"), "utf8")) as MeshState,
    write,
    async [Symbol.asyncDispose]() {
      if (ended === undefined) {
        child.kill("SIGTERM");
        await exited;
      }
      await cli("down");
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
  return run;
}

export function execute(
  words: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  return new Promise((done) => {
    execFile(words[0] ?? "", words.slice(1), { cwd, env: { ...process.env, ...env } }, (failed, stdout, stderr) => {
      done({ code: typeof failed?.code === "number" ? failed.code : failed === null ? 0 : 1, stdout, stderr });
    });
  });
}

/** What of a run is still on the machine; empty when it is gone. The state is read while it runs. */
export async function leftovers(state: MeshState): Promise<readonly string[]> {
  const { plan } = state;
  const exists = async (words: readonly string[]) => (await execute(words, "/")).stdout;
  const [spaces, links, etc, rules] = await Promise.all([
    exists(["ip", "netns", "list"]),
    exists(["ip", "-o", "link"]),
    exists(["sh", "-c", "ls /etc/netns 2>/dev/null || true"]),
    exists(["sh", "-c", "iptables-save 2>/dev/null || true"]),
  ]);
  const ports =
    plan?.isolation === "none"
      ? plan.workloads.flatMap(({ ports: own, app }) => [...Object.values(own), ...(app ? [app.port] : [])])
      : [];
  return [
    ...markedProcesses(state.runId).map(({ pid }) => `process ${pid}`),
    ...state.namespaces
      .filter((name) => new RegExp(`^${name}\\b`, "m").test(spaces))
      .map((name) => `namespace ${name}`),
    ...state.namespaces.filter((name) => etc.split("\n").includes(name)).map((name) => `/etc/netns/${name}`),
    ...state.interfaces
      .filter((name) => rules.includes(`pilot-agent-mesh ${name}"`))
      .map((name) => `rules of the packet filter for ${name}`),
    ...state.interfaces.filter((name) => links.includes(` ${name}@`)).map((name) => `interface ${name}`),
    ...ports
      .filter((port) => portOwners(port).some((pid) => !isOfAnotherMesh(pid, state)))
      .map((port) => `port ${port}`),
    ...(await exists(["sh", "-c", `ls ${state.controlSocket} 2>/dev/null || true`]))
      .split("\n")
      .filter((line) => line !== ""),
  ];
}

/** Ports are free again from the moment a mesh ends: the next one, of another test, looks at them or takes them at once. */
function isOfAnotherMesh(pid: number, { runId, parent }: MeshState): boolean {
  const words = (file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8").split("\0");
    } catch {
      return [];
    }
  };
  const mark = words("environ").find((variable) => variable.startsWith(`${RUN_VARIABLE}=`));
  if (mark !== undefined) return mark !== `${RUN_VARIABLE}=${runId}`;
  return pid !== parent.pid && words("cmdline").join(" ").includes(" mesh up");
}

/**
 * Every rule of the packet filters, route and routing rule of the machine that is about this mesh, by its own interface and network: those
 * of other tests come and go meanwhile. With namespaces four rules and the interface's own route while it is up, none afterwards.
 */
export async function ownRules({ plan }: Pick<MeshState, "plan">): Promise<readonly string[]> {
  const { network } = plan ?? {};
  if (network === undefined) return [];
  const sources = ["iptables-save", "iptables-legacy-save", "ip6tables-save", "ip route show table main", "ip rule"];
  const { stdout } = await execute(["sh", "-c", sources.map((each) => `${each} 2>/dev/null`).join("; ")], "/");
  const subnet = network.hostAddress.replace(/\d+$/, "");
  const isOwn = (line: string) =>
    new RegExp(`\\b${network.hostInterface}\\b`).test(line) || line.includes(` ${subnet}`) || line.startsWith(subnet);
  return stdout.split("\n").filter(isOwn);
}
