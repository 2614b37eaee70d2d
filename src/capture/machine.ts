import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { errorMessage } from "../base/coded-error.ts";
import { formatIp } from "../net/ip.ts";
import { runProgramSync } from "../process/run-program.ts";
import { CaptureError } from "./capture-error.ts";
import type { MachineFacts } from "./core/derive-settings.ts";
import type { OwnerNames } from "./core/rule-key.ts";
import { type CaptureSettings, splitList } from "./core/settings.ts";
import type { RunProgram } from "./run-program.ts";

export interface MachineFiles {
  readonly procNet: string;
  readonly resolvConf: string;
  readonly passwd: string;
  readonly group: string;
}

export const MACHINE_FILES: MachineFiles = {
  procNet: "/proc/self/net",
  resolvConf: "/etc/resolv.conf",
  passwd: "/etc/passwd",
  group: "/etc/group",
};

/** Reads the machine lazily: only what a setting depends on is opened. */
export function machineFacts(files: MachineFiles): MachineFacts {
  return {
    userId: (name) => readIds(files.passwd).get(name),
    localAddresses: () => localAddresses(files.procNet),
    resolvConf: () => {
      try {
        return readFileSync(files.resolvConf, "utf8");
      } catch (cause) {
        const text = `failed to load ${files.resolvConf}: ${errorMessage(cause)}`;
        throw new CaptureError("unreadable-file", text, { cause });
      }
    },
  };
}

/** Interfaces that are down count too, which `os.networkInterfaces` leaves out; it stands in where /proc lacks a table. */
export function localAddresses(procNet: string): readonly string[] {
  const [v4, v6] = [readText(join(procNet, "fib_trie")), readText(join(procNet, "if_inet6"))];
  return [
    ...(v4 === "" ? runtimeAddresses("IPv4") : ipv4Addresses(v4)),
    // Without IPv6 in the kernel there is no table, and the runtime knows of no address either.
    ...(v6 === "" ? runtimeAddresses("IPv6") : ipv6Addresses(v6)),
  ];
}

function runtimeAddresses(family: "IPv4" | "IPv6"): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return all.filter((entry) => entry.family === family).map((entry) => entry.address);
}

/** The same for a network namespace that this process is not in. */
export function namespaceAddresses(path: string): readonly string[] {
  const read = (file: string) => {
    try {
      const args = [`--net=${path}`, "--", "cat", `/proc/self/net/${file}`];
      return runProgramSync("nsenter", args);
    } catch (cause) {
      const text = `cannot read the addresses of network namespace ${path}: ${errorMessage(cause).trim()}`;
      throw new CaptureError("namespace-failed", text, { cause });
    }
  };
  return [...ipv4Addresses(read("fib_trie")), ...ipv6Addresses(read("if_inet6"))];
}

/** The routing trie marks local addresses with a `host LOCAL` leaf under the address. */
export function ipv4Addresses(fibTrie: string): readonly string[] {
  const found = new Set<string>();
  let leaf = "";
  for (const line of fibTrie.split("\n")) {
    const address = /\|-- (\d+\.\d+\.\d+\.\d+)/.exec(line)?.[1];
    if (address !== undefined) leaf = address;
    else if (/\/32 host LOCAL/.test(line)) found.add(leaf);
  }
  return [...found];
}

/** One line per address: 32 hex digits, then index, prefix length, scope, flags, name. */
export function ipv6Addresses(ifInet6: string): readonly string[] {
  return ifInet6.split("\n").flatMap((line) => {
    const [hex = ""] = line.trim().split(/\s+/);
    if (!/^[0-9a-f]{32}$/.test(hex)) return [];
    const words = [0, 8, 16, 24].map((at) => Number.parseInt(hex.slice(at, at + 8), 16));
    return [formatIp({ family: 6, words })];
  });
}

/** Numbers for the names in the settings, from the files and, for directory services, from `getent`. */
export async function ownerNames(settings: CaptureSettings, files: MachineFiles, run: RunProgram): Promise<OwnerNames> {
  const users = splitList(settings.proxyUid).filter(isName);
  const groups = [settings.proxyGid, settings.ownerGroupsInclude, settings.ownerGroupsExclude]
    .flatMap(splitList)
    .filter((name) => isName(name) && name !== "*");
  return {
    users: await lookUp(users, files.passwd, "passwd", run),
    groups: await lookUp(groups, files.group, "group", run),
  };
}

async function lookUp(names: readonly string[], path: string, database: string, run: RunProgram) {
  const found = new Map<string, string>();
  if (names.length === 0) return found;
  const known = readIds(path);
  for (const name of names) {
    const id = known.get(name) ?? (await run({ program: "getent", args: [database, name] })).stdout.split(":")[2];
    if (id !== undefined) found.set(name, id);
  }
  return found;
}

function isName(text: string): boolean {
  return !/^\d+$/.test(text);
}

function readIds(path: string): ReadonlyMap<string, string> {
  const lines = readText(path)
    .split("\n")
    .map((line) => line.split(":"));
  return new Map(
    lines.flatMap(([name, , id]) => (name === undefined || id === undefined ? [] : [[name, id] as const])),
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
