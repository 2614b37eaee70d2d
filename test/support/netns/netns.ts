import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { splitWords } from "../../../src/capture/core/parse-iptables-rule.ts";
import { runProgram } from "../../../src/capture/run-program.ts";

export interface NetnsResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ExecOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A network namespace of its own, gone when disposed; nothing in it can touch the machine's rules, routes or addresses. */
export interface Netns extends AsyncDisposable {
  readonly name: string;
  /** What `--network-namespace` takes. */
  readonly path: string;
  exec(program: string, args: readonly string[], options?: ExecOptions): Promise<NetnsResult>;
  /** Words of a command line; throws when it fails. */
  must(line: string, options?: ExecOptions): Promise<string>;
  /** Lines for the shell, all in one process; throws with the first that fails. Entering a namespace costs more than most commands. */
  script(lines: readonly string[]): Promise<string>;
  spawn(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): ChildProcess;
}

export interface NetnsOptions {
  /** With prefix length; on `eth0`. */
  readonly addresses?: readonly string[];
  /** Files below /etc that programs in the namespace see instead of the machine's. */
  readonly etc?: Readonly<Record<string, string>>;
  /** Leaves `eth0` to the caller, who joins two namespaces. */
  readonly isBare?: boolean;
}

let count = 0;

export async function createNetns(options: NetnsOptions = {}): Promise<Netns> {
  count += 1;
  const name = `pa-cap-${process.pid}-${count}`;
  const etc = join("/etc/netns", name);
  const dispose = async () => {
    await runProgram({ program: "ip", args: ["netns", "del", name] });
    rmSync(etc, { recursive: true, force: true });
  };
  for (const [file, text] of Object.entries(options.etc ?? {})) {
    mkdirSync(dirname(join(etc, file)), { recursive: true });
    writeFileSync(join(etc, file), text);
  }
  await outside(`ip netns add ${name}`);
  const netns: Netns = {
    name,
    path: `/run/netns/${name}`,
    exec: async (program, args, { input, env } = {}) => {
      const assignments = Object.entries(env ?? {}).map(([key, value]) => `${key}=${value}`);
      const call = { program: "ip", args: ["netns", "exec", name, "env", ...assignments, program, ...args] };
      const result = await runProgram({ ...call, ...(input === undefined ? {} : { input }) });
      return { ...result, code: result.code ?? 127 };
    },
    must: async (line, execOptions) => {
      const [program = "", ...args] = splitWords(line);
      const result = await netns.exec(program, args, execOptions);
      if (result.code !== 0) throw new Error(`${line}: exit ${result.code}: ${result.stderr}${result.stdout}`);
      return result.stdout;
    },
    script: async (lines) => {
      const result = await netns.exec("sh", ["-ec", lines.join("\n")]);
      if (result.code !== 0) throw new Error(`${lines.join("; ")}: exit ${result.code}: ${result.stderr}`);
      return result.stdout;
    },
    spawn: (program, args, env = {}) => {
      const assignments = Object.entries(env).map(([key, value]) => `${key}=${value}`);
      return spawn("ip", ["netns", "exec", name, "env", ...assignments, program, ...args], { stdio: "pipe" });
    },
    [Symbol.asyncDispose]: dispose,
  };
  try {
    const cable = [
      "ip link add eth0 type veth peer name peer0",
      ...bringUp("peer0", []),
      ...bringUp("eth0", options.addresses ?? ["10.0.0.10/24"]),
    ];
    await netns.script(["ip link set lo up", ...(options.isBare === true ? [] : cable)]);
  } catch (thrown) {
    await dispose();
    throw thrown;
  }
  return netns;
}

export interface NetnsPair extends AsyncDisposable {
  readonly pod: Netns;
  readonly remote: Netns;
}

/** Two namespaces joined by a cable; all traffic of the pod to other networks goes to the remote, which answers for any address. */
export async function createNetnsPair(etc: Readonly<Record<string, string>> = {}): Promise<NetnsPair> {
  const pod = await createNetns({ isBare: true, etc });
  const remote = await createNetns({ isBare: true });
  await outside(`ip link add eth0 netns ${pod.name} type veth peer name eth0 netns ${remote.name}`);
  // These networks are local to the remote, so that its listeners can stand for the whole world.
  const world = ["1.0.0.0/8", "9.9.0.0/16", "10.96.0.0/16", "192.0.2.0/24", "203.0.113.0/24"];
  await remote.script([
    ...bringUp("eth0", ["10.0.0.99/24", "fd00::99/64"]),
    ...world.map((network) => `ip route add local ${network} dev lo`),
    "ip -6 route add local 2001:db8::/32 dev lo",
  ]);
  await pod.script([
    ...bringUp("eth0", ["10.0.0.10/24", "fd00::10/64"]),
    "ip route add default via 10.0.0.99",
    "ip -6 route add default via fd00::99",
  ]);
  return {
    pod,
    remote,
    [Symbol.asyncDispose]: async () => {
      await pod[Symbol.asyncDispose]();
      await remote[Symbol.asyncDispose]();
    },
  };
}

function bringUp(device: string, addresses: readonly string[]): readonly string[] {
  return [
    // Without nodad an IPv6 address is unusable for a second.
    ...addresses.map((address) => `ip addr add ${address} dev ${device}${address.includes(":") ? " nodad" : ""}`),
    `ip link set ${device} up`,
  ];
}

async function outside(line: string): Promise<void> {
  const [program = "", ...args] = line.split(" ");
  const result = await runProgram({ program, args });
  if (result.code !== 0) throw new Error(`${line}: ${result.stderr}${result.failure ?? ""}`);
}

/** The rules of a listing without comments and counters, tables in a fixed order. */
export function comparableSave(text: string): string {
  const tables = text
    .split(/^\*/m)
    .slice(1)
    .map((table) => table.split("\n").filter((line) => line !== "" && !line.startsWith("#")))
    // A table that was only ever looked at, or emptied, is the same as none.
    .filter((lines) => lines.some((line) => line.startsWith("-A") || / - \[/.test(line)))
    .map((lines) => lines.map((line) => line.replace(/ \[\d+:\d+\]$/, "")).join("\n"));
  return tables.sort().join("\n");
}
