import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { errorMessage } from "../../base/coded-error.ts";
import { runProgram } from "../../process/run-program.ts";
import type { NetworkPlan } from "../core/mesh-plan.ts";
import type { EgressState, StateRecord } from "../state/mesh-state.ts";
import { mustRun } from "./run-tool.ts";

const FORWARDING = "/proc/sys/net/ipv4/ip_forward";
/** That forwarding was off before the first mesh; gone with a restart of the machine, as is the setting. */
const RECORD = "/run/pilot-agent/mesh-forwarding-was-off";
const COMMENT = "pilot-agent-mesh";
const WAIT = ["-w", "10"];

type Rule = readonly [table: "nat" | "filter", chain: string, ...words: string[]];

/**
 * Lets the workloads of one mesh reach what the machine reaches, under the machine's own address. Where the machine did not forward
 * packets before it still forwards none but those of meshes. All of it is the state's to remove.
 */
export async function openEgress(network: NetworkPlan, state: StateRecord): Promise<void> {
  const egress = egressOf(network);
  state.update({ egress });
  if (readFileSync(FORWARDING, "utf8").trim() === "0") {
    mkdirSync(dirname(RECORD), { recursive: true });
    writeFileSync(RECORD, "");
    if (!(await isThere(GUARD))) await mustRun("iptables", words("-A", GUARD));
    writeFileSync(FORWARDING, "1");
  }
  for (const rule of rulesOf(egress)) await mustRun("iptables", words("-I", rule));
}

/** What a mesh with this network has in the machine's packet filter. */
export function egressOf({ hostInterface, hostAddress, prefixLength }: NetworkPlan): EgressState {
  return { hostInterface, subnet: `${hostAddress.replace(/\d+$/, "0")}/${prefixLength}` };
}

/** Interfaces that rules of meshes are about. Empty where this user may not look. */
export async function interfacesWithRules(): Promise<readonly string[]> {
  const tables = await Promise.all(
    (["nat", "filter"] as const).map((table) => runProgram("iptables", [...WAIT, "-t", table, "-S"])),
  );
  const found = tables.flatMap(({ stdout }) => [...stdout.matchAll(new RegExp(`"${COMMENT} (\\w+)"`, "g"))]);
  return [...new Set(found.flatMap(([, name]) => name ?? []))];
}

/** Says what could not be removed. Rules that are gone already are not failures. */
export async function closeEgress(egress: EgressState): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const rule of rulesOf(egress)) problems.push(...(await remove(rule)));
  // The guard is made where forwarding was off, and says so when the record is gone.
  const wasOff = isRecorded() || (await isThere(GUARD));
  if (!wasOff || (await hasOtherMesh())) return problems;
  try {
    writeFileSync(FORWARDING, "0");
    problems.push(...(await remove(GUARD)));
    rmSync(RECORD, { force: true });
  } catch (thrown) {
    problems.push(errorMessage(thrown));
  }
  return problems;
}

/** The last rule of all: what was not forwarded before is not forwarded now. */
const GUARD: Rule = ["filter", "FORWARD", "-m", "comment", "--comment", `${COMMENT}-guard`, "-j", "DROP"];

/** Each is put in front, so the last one here is asked first: meshes do not reach each other. */
function rulesOf({ hostInterface, subnet }: EgressState): readonly Rule[] {
  const mark = ["-m", "comment", "--comment", `${COMMENT} ${hostInterface}`];
  return [
    ["nat", "POSTROUTING", "-s", subnet, "!", "-o", hostInterface, ...mark, "-j", "MASQUERADE"],
    [
      "filter",
      "FORWARD",
      "-o",
      hostInterface,
      "-m",
      "conntrack",
      "--ctstate",
      "ESTABLISHED,RELATED",
      ...mark,
      "-j",
      "ACCEPT",
    ],
    ["filter", "FORWARD", "-i", hostInterface, ...mark, "-j", "ACCEPT"],
    ["filter", "FORWARD", "-i", hostInterface, "-o", "pamesh+", ...mark, "-j", "REJECT"],
  ];
}

function words(action: "-I" | "-A" | "-D" | "-C", [table, chain, ...rest]: Rule): readonly string[] {
  return [...WAIT, "-t", table, action, chain, ...rest];
}

async function isThere(rule: Rule): Promise<boolean> {
  return (await runProgram("iptables", words("-C", rule))).code === 0;
}

async function remove(rule: Rule): Promise<readonly string[]> {
  // A start that was cut off and repeated may have made it twice.
  while (await isThere(rule)) {
    const { code, stderr } = await runProgram("iptables", words("-D", rule));
    if (code !== 0) return [`iptables -D ${rule.slice(1).join(" ")}: ${stderr.trim()}`];
  }
  return [];
}

function isRecorded(): boolean {
  try {
    readFileSync(RECORD);
    return true;
  } catch {
    return false;
  }
}

async function hasOtherMesh(): Promise<boolean> {
  const { stdout } = await runProgram("iptables", [...WAIT, "-t", "nat", "-S", "POSTROUTING"]);
  return stdout.includes(`${COMMENT} `);
}
