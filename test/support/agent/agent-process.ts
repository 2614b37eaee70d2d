import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { envoyPath } from "../needs.ts";
import { type Answer, fetchAnswer } from "../net/fetch-answer.ts";
import { freePorts } from "../net/free-ports.ts";
import { PROGRAM } from "../process/program.ts";
import { until } from "../wait/until.ts";
import type { MeshControlPlane } from "../xds/mesh-control-plane.ts";

export { freePorts } from "../net/free-ports.ts";

export interface AgentProcess extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly folder: string;
  readonly ports: AgentPorts;
  stdout(): string;
  stderr(): string;
  /** Exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
  /** Process ids of the agent's Envoys. */
  envoyPids(): Promise<number[]>;
  get(
    port: keyof AgentPorts,
    path: string,
    method?: string,
  ): Promise<{ readonly status: number; readonly body: string }>;
  untilReady(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

export interface AgentPorts {
  readonly admin: number;
  readonly status: number;
  readonly envoyStatus: number;
  readonly envoyPrometheus: number;
}

export interface AgentOptions {
  readonly name?: string;
  readonly controlPlane?: Pick<MeshControlPlane, "port" | "rootFile" | "token">;
  readonly env?: Readonly<Record<string, string>>;
  readonly proxyConfig?: object;
  readonly args?: readonly string[];
  /** The node type; sidecar when absent. */
  readonly node?: string;
  /** Command in front of the PROGRAM, for example `unshare ...`. */
  readonly wrapper?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
}

/** The built program as a user would run it, in a folder of its own with ports of its own. */
export async function startAgentProcess(options: AgentOptions = {}): Promise<AgentProcess> {
  const { name = "app", controlPlane } = options;
  const folder = mkdtempSync(join(tmpdir(), "agent-"));
  // As the root directory of a container: the user Envoy runs as gets through it.
  chmodSync(folder, 0o755);
  const [admin, status, envoyStatus, envoyPrometheus] = (await freePorts(4)) as [number, number, number, number];
  const ports = { admin, status, envoyStatus, envoyPrometheus };
  const files: Record<string, string> = { ...options.files };
  if (controlPlane !== undefined) {
    files["var/run/secrets/istio/root-cert.pem"] ??= readFileSync(controlPlane.rootFile, "utf8");
    files["var/run/secrets/tokens/istio-token"] = await controlPlane.token("ns", name);
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const proxyConfig = {
    proxyAdminPort: admin,
    statusPort: status,
    terminationDrainDuration: "1s",
    discoveryAddress: `localhost:${controlPlane?.port ?? 1}`,
    ...options.proxyConfig,
  };
  const [out, err] = [openSync(join(folder, "stdout"), "w"), openSync(join(folder, "stderr"), "w")];
  const [program = PROGRAM, ...words] = [
    ...(options.wrapper ?? []),
    PROGRAM,
    "proxy",
    options.node ?? "sidecar",
    ...(options.args ?? []),
  ];
  const child = spawn(program, words, {
    cwd: folder,
    stdio: ["ignore", out, err],
    env: {
      PATH: process.env.PATH,
      ENVOY_BIN: envoyPath(),
      POD_NAME: name,
      POD_NAMESPACE: "ns",
      SERVICE_ACCOUNT: name,
      INSTANCE_IP: "127.0.0.1",
      CLOUD_PLATFORM: "none",
      // Its port is one per machine; the test of the tap switches it on.
      PROXY_XDS_DEBUG_VIA_AGENT: "false",
      ENVOY_STATUS_PORT: String(envoyStatus),
      ENVOY_PROMETHEUS_PORT: String(envoyPrometheus),
      ECC_SIGNATURE_ALGORITHM: "ECDSA",
      PROXY_CONFIG: JSON.stringify(proxyConfig),
      ...options.env,
    },
  });
  closeSync(out);
  closeSync(err);
  const exited = new Promise<number | string>((done) =>
    child.once("exit", (code, signal) => done(code ?? signal ?? "unknown")),
  );
  let isRunning = true;
  void exited.then(() => {
    isRunning = false;
  });
  const agent: AgentProcess = {
    child,
    pid: child.pid ?? 0,
    folder,
    ports,
    exited,
    stdout: () => readFileSync(join(folder, "stdout"), "utf8"),
    stderr: () => readFileSync(join(folder, "stderr"), "utf8"),
    envoyPids: () => childEnvoys(child.pid ?? 0),
    get: (port, path, method = "GET") => fetchText(ports[port], path, method),
    untilReady: () =>
      until(async () => {
        if (!isRunning)
          throw new Error(`the agent ended: ${agent.stdout().slice(-3000)} ${agent.stderr().slice(-2000)}`);
        const { status: code, body } = await fetchText(status, "/healthz/ready");
        return code === 200 ? undefined : `not ready: ${body}`;
      }),
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      if (isRunning) child.kill("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return agent;
}

/** One request to a port of this machine. */
export function fetchText(port: number, path: string, method = "GET"): Promise<Answer> {
  return fetchAnswer(`http://127.0.0.1:${port}${path}`, method);
}

async function childEnvoys(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="]);
  const rows = stdout.split("\n").flatMap((line) => {
    const [, own = "", parent = "", args = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return own === "" ? [] : [{ own: Number(own), parent: Number(parent), args }];
  });
  // Level by level: where process ids have wrapped around, a child's is lower than its parent's and stands before it.
  const envoys: number[] = [];
  for (let level = [pid]; level.length > 0; ) {
    const children = rows.filter(({ parent }) => level.includes(parent));
    envoys.push(...children.filter(({ args }) => /envoy\S* .*-c /.test(args)).map(({ own }) => own));
    level = children.map(({ own }) => own);
  }
  return envoys;
}
