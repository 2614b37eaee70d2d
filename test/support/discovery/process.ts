import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openDevelopmentIssuer } from "../../../src/ca/development-issuer.ts";
import { PROGRAM } from "../process/program.ts";
import { until } from "../wait/until.ts";

/** `pilot-agent discovery` as a user would run it, with a configuration directory that tests write to. */
export interface DiscoveryProcess extends AsyncDisposable {
  readonly pid: number;
  readonly rootFile: string;
  readonly ports: DiscoveryPorts;
  /** Writes a file below the configuration directory; undefined removes it. */
  write(file: string, text: string | undefined): void;
  /** The mesh configuration. */
  writeMesh(text: string): void;
  /** The mesh networks. */
  writeNetworks(text: string): void;
  token(namespace: string, account: string): Promise<string>;
  /** Ends the process at once and starts it again with the same directories. */
  restart(signal?: NodeJS.Signals): Promise<void>;
  output(): string;
}

export interface DiscoveryPorts {
  readonly host: string;
  readonly http: number;
  readonly grpc: number;
  readonly secureGrpc: number;
  readonly monitoring: number;
}

export interface DiscoveryProcessOptions {
  readonly ports: DiscoveryPorts;
  /** Files below the configuration directory. */
  readonly files: Readonly<Record<string, string>>;
  readonly mesh?: string;
  readonly networks?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Command in front, for example `ip netns exec NAME`. */
  readonly wrapper?: readonly string[];
  /** Answers whether `/ready` of the process is 200. */
  isReady(): Promise<boolean>;
}

export async function startDiscoveryProcess(options: DiscoveryProcessOptions): Promise<DiscoveryProcess> {
  const folder = mkdtempSync(join(tmpdir(), "discovery-"));
  const [ca, config] = [join(folder, "ca"), join(folder, "config")];
  mkdirSync(config);
  const write = (file: string, text: string | undefined) => {
    const path = join(config, file);
    if (text === undefined) return rmSync(path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  for (const [file, text] of Object.entries(options.files)) write(file, text);
  writeFileSync(join(folder, "mesh.yaml"), options.mesh ?? "");
  writeFileSync(join(folder, "networks.yaml"), options.networks ?? "");
  let child = launch(folder, options);
  let isRunning = true;
  const untilReady = () =>
    until(async () => {
      if (child.exitCode !== null) throw new Error(`the control plane ended: ${output()}`);
      return (await options.isReady()) ? undefined : `the control plane is not ready: ${output().slice(-2000)}`;
    });
  const output = () => readFileSync(join(folder, "output"), "utf8");
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await once(child, "exit");
    }
  };
  try {
    await untilReady();
  } catch (thrown) {
    await end("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
    throw thrown;
  }
  return {
    get pid() {
      return child.pid ?? 0;
    },
    rootFile: join(ca, "root-cert.pem"),
    ports: options.ports,
    write,
    writeMesh: (text) => writeFileSync(join(folder, "mesh.yaml"), text),
    writeNetworks: (text) => writeFileSync(join(folder, "networks.yaml"), text),
    output,
    token: async (namespace, account) => {
      const issuer = await openDevelopmentIssuer(ca);
      return (await issuer.issue({ namespace, name: account }, 3600)).reveal();
    },
    async restart(signal = "SIGKILL") {
      await end(signal);
      child = launch(folder, options);
      await untilReady();
    },
    async [Symbol.asyncDispose]() {
      if (!isRunning) return;
      isRunning = false;
      await end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function launch(folder: string, { ports, env, args = [], wrapper = [] }: DiscoveryProcessOptions): ChildProcess {
  const at = (port: number) => `${ports.host}:${port}`;
  const [program = PROGRAM, ...words] = [
    ...wrapper,
    PROGRAM,
    "discovery",
    `--configDir=${join(folder, "config")}`,
    `--meshConfig=${join(folder, "mesh.yaml")}`,
    `--networksConfig=${join(folder, "networks.yaml")}`,
    `--httpAddr=${at(ports.http)}`,
    `--grpcAddr=${at(ports.grpc)}`,
    `--secureGRPCAddr=${at(ports.secureGrpc)}`,
    `--monitoringAddr=${at(ports.monitoring)}`,
    "--httpsAddr=",
    "--shutdownDuration=1s",
    ...args,
  ];
  const log = openSync(join(folder, "output"), "a");
  const child = spawn(program, words, {
    cwd: folder,
    stdio: ["ignore", log, log],
    env: { PATH: process.env.PATH, ROOT_CA_DIR: join(folder, "ca"), ...env },
  });
  closeSync(log);
  return child;
}
