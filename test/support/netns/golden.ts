import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildRules } from "../../../src/capture/core/build-rules.ts";
import { restoreInputs } from "../../../src/capture/core/dry-run.ts";
import { toNft } from "../../../src/capture/core/nft-args.ts";
import { nftTransaction } from "../../../src/capture/core/nft-transaction.ts";
import { type CaptureCase, settingsOf } from "../../conformance/capture-case.ts";
import { goldenPath } from "../../conformance/golden-data.ts";
import { PROGRAM } from "../process/program.ts";
import { istioIptables, networkState } from "./capture.ts";
import { comparableSave, createNetns, type Netns, type NetnsOptions } from "./netns.ts";

/** Captures that can be loaded: everything that is a full rule set, from both families of golden data. */
export function loadableCases(names?: readonly string[]): readonly CaptureCase[] {
  const folder = goldenPath("iptables");
  if (!existsSync(folder)) return [];
  const files = [folder, join(folder, "gen-1.20")].flatMap((dir) =>
    existsSync(dir) ? readdirSync(dir).map((file) => join(dir, file)) : [],
  );
  return files
    .filter((file) => file.endsWith(".json"))
    .map((file) => JSON.parse(readFileSync(file, "utf8")) as CaptureCase)
    .filter((entry) => entry.kind === "capture" || entry.kind === "document")
    .filter((entry) => names === undefined || (entry.generation === "master" && names.includes(entry.name)))
    .map((entry) => ({ ...entry, args: entry.args.filter((arg) => arg !== "--dry-run") }));
}

/** The machine that a case asks for: addresses, resolvers, and the groups its rules may name. */
export function createMachine(entry: CaptureCase, options: Pick<NetnsOptions, "isBare"> = {}): Promise<Netns> {
  const addresses = (entry.requires?.localAddresses ?? ["10.0.0.10"]).map((address) =>
    address.includes(":") ? `${address}/64` : `${address}/24`,
  );
  const servers = entry.requires?.resolvConfNameservers ?? [];
  return createNetns({
    ...options,
    addresses,
    etc: {
      "resolv.conf": servers.map((server) => `nameserver ${server}\n`).join(""),
      group: "root:x:0:\njava:x:2001:\nftp:x:2002:\n",
    },
  });
}

/** Apply, compare with the bare text, apply again, clean: what every golden input has to go through on every backend. */
export async function roundTrip(entry: CaptureCase, flags: readonly string[]): Promise<readonly string[]> {
  const problems: string[] = [];
  await using machine = await createMachine(entry);
  const env = { ...entry.env, ...(entry.generation === "master" ? {} : { PILOT_AGENT_GENERATION: entry.generation }) };
  await addStrangers(machine);
  const before = await networkState(machine);
  const run = async (what: string, args: readonly string[]) => {
    const { code, stdout, stderr } = await istioIptables(machine, args, env);
    if (code !== 0) problems.push(`${what}: exit ${code}: ${lastLine(stdout)} ${stderr}`);
    return stdout;
  };
  await run("apply", [...entry.args, ...flags]);
  problems.push(...(await modelDifference(entry, machine, flags)));
  const applied = await networkState(machine);
  const second = await run("second apply", [...entry.args, ...flags]);
  if (!second.includes("nothing was changed")) problems.push(`second apply: ${lastLine(second)}`);
  if ((await networkState(machine)) !== applied) problems.push("second apply changed the state");
  // Neither the flags of the capture nor its environment: the state itself has to tell.
  const { code, stdout, stderr } = await machine.exec(PROGRAM, ["istio-clean-iptables"]);
  if (code !== 0) problems.push(`clean: exit ${code}: ${lastLine(stdout)} ${stderr}`);
  const after = await networkState(machine);
  if (after !== before) problems.push(`after clean: ${firstDifference(before, after)}`);
  return problems;
}

/** Rules of others, in every table and both versions, that must survive all of it. */
async function addStrangers(machine: Netns): Promise<void> {
  const rules = ["iptables-nft", "ip6tables-nft"].flatMap((program) => [
    `${program} -t nat -A OUTPUT -p tcp --dport 123 -j ACCEPT`,
    `${program} -t nat -N STRANGER`,
    `${program} -t nat -A PREROUTING -p tcp --dport 124 -j STRANGER`,
    `${program} -t mangle -A PREROUTING -m mark --mark 7 -j RETURN`,
  ]);
  await machine.script([...rules, "ip rule add fwmark 7 lookup 700"]);
}

/** Without counters. */
const NFT_LISTING = "nft -s list ruleset inet";

/** The kernel must list the same as after loading the text itself into an empty namespace. */
async function modelDifference(
  entry: CaptureCase,
  machine: Netns,
  flags: readonly string[],
): Promise<readonly string[]> {
  const kind = flags.at(-1);
  const { settings } = settingsOf(entry);
  // Rules load without a cable, which takes the kernel longer than all of them.
  await using bare = await createMachine(entry, { isBare: true });
  if (kind !== "nft" && kind !== "legacy") {
    const text = nftTransaction(toNft(buildRules(settings))).join("\n");
    const loaded = await bare.exec("nft", ["-f", "-"], { input: `${text}\n` });
    const [ours, theirs] = await Promise.all([machine.must(NFT_LISTING), bare.must(NFT_LISTING)]);
    if (loaded.code !== 0) return [`bare nft: ${loaded.stderr}`];
    return ours === theirs && ours !== "" ? [] : [`nft: ${firstDifference(theirs, ours)}`];
  }
  if (kind === "nft") await addStrangers(bare);
  const problems: string[] = [];
  for (const { program, text } of restoreInputs(settings)) {
    const variant = program.replace("tables-", `tables-${kind}-`);
    const loaded = await bare.exec(variant, ["--noflush", "--wait", "10"], { input: text });
    if (loaded.code !== 0) problems.push(`bare ${variant}: ${loaded.stderr}`);
    const save = variant.replace("restore", "save");
    const [ours, theirs] = await Promise.all([machine.must(save), bare.must(save)]);
    if (comparableSave(ours) !== comparableSave(theirs)) {
      problems.push(`${save}: ${firstDifference(comparableSave(theirs), comparableSave(ours))}`);
    }
  }
  return problems;
}

function firstDifference(expected: string, actual: string): string {
  const [wanted, found] = [expected.split("\n"), actual.split("\n")];
  const at = wanted.findIndex((line, index) => line !== found[index]);
  const index = at === -1 ? wanted.length : at;
  return `expected ${JSON.stringify(wanted[index])}, got ${JSON.stringify(found[index])}`;
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
