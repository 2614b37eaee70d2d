import { type IpPrefix, parsePrefix, prefixMasks } from "../../net/ip-prefix.ts";
import type { Packet } from "./packet.ts";
import { arrangeRules, type Family, type Match, type Rule, type TableName, type Target } from "./rule.ts";
import type { OwnerNames } from "./rule-key.ts";

/** Where a packet goes. `direct` means that nothing of ours changes it. */
export type Fate =
  | { readonly kind: "direct" | "dropped" }
  | { readonly kind: "redirected" | "tproxied"; readonly port: number }
  | { readonly kind: "translated"; readonly to: string };

/** A rule that matched, in the order a packet met it. */
export interface WalkStep {
  readonly table: TableName;
  readonly chain: string;
  /** 1-based position in its chain. */
  readonly number: number;
  readonly rule: Rule;
}

export interface Walk {
  readonly fate: Fate;
  readonly steps: readonly WalkStep[];
  /** The matching rule that settled the fate; absent when none did. */
  readonly decidedBy: WalkStep | undefined;
  readonly mark: number;
  readonly zone: number;
}

export interface WalkerOptions {
  readonly names: OwnerNames;
  /** Packets that no socket sent match `! --uid-owner` in iptables, while nftables cannot compare them at all. */
  readonly backend: "iptables" | "nft";
}

export type Walker = (packet: Packet) => Walk;

interface CompiledRule {
  readonly step: WalkStep;
  readonly tests: readonly Test[];
  readonly target: Target;
}

interface Moment extends Packet {
  mark: number;
  hook: "in" | "out";
}

type Test = (moment: Moment) => boolean;
type Chains = ReadonlyMap<string, readonly CompiledRule[]>;

/** The order of tables at each hook; the kernel asks nat only about the first packet of a connection. */
const TABLE_ORDER: readonly TableName[] = ["raw", "mangle", "nat"];

/** Prepares the rules once; each call then follows one packet as the kernel would. */
export function createWalker(rules: readonly Rule[], options: WalkerOptions): Walker {
  const chains: Readonly<Record<Family, Chains>> = {
    v4: compile(rules, "v4", options),
    v6: compile(rules, "v6", options),
  };
  return (packet) => {
    const own = chains[packet.source.family === 4 ? "v4" : "v6"];
    const trip = createTrip(own, { ...packet, hook: packet.direction === "inbound" ? "in" : "out" });
    const first = trip.pass(packet.direction === "inbound" ? "PREROUTING" : "OUTPUT", true);
    // What is sent over lo comes back in; its connection has its translation already, so nat is not asked again.
    if (first.kind === "direct" && packet.direction === "outbound" && packet.device === "lo") {
      return trip.finish(trip.pass("PREROUTING", false));
    }
    return trip.finish(first);
  };
}

function createTrip(chains: Chains, start: Moment) {
  const moment = start;
  const steps: WalkStep[] = [];
  let decidedBy: WalkStep | undefined;
  let zone = 0;

  /** Undefined: the chain ended without a verdict and its caller goes on. */
  const walkChain = (table: TableName, chain: string): Fate | "accept" | undefined => {
    for (const rule of chains.get(`${table}/${chain}`) ?? []) {
      if (!rule.tests.every((test) => test(moment))) continue;
      steps.push(rule.step);
      const { target } = rule;
      switch (target.kind) {
        case "return":
          decidedBy = rule.step;
          return undefined;
        case "accept":
          decidedBy = rule.step;
          return "accept";
        case "drop":
          decidedBy = rule.step;
          return { kind: "dropped" };
        case "redirect":
          decidedBy = rule.step;
          return { kind: "redirected", port: Number(target.port) };
        case "dnat":
          decidedBy = rule.step;
          return { kind: "translated", to: target.to };
        case "tproxy":
          decidedBy = rule.step;
          moment.mark = Number(target.mark);
          return { kind: "tproxied", port: Number(target.port) };
        case "set-mark":
          moment.mark = Number(target.value);
          break;
        case "zone":
          zone = Number(target.zone);
          break;
        case "jump": {
          const inner = walkChain(table, target.chain);
          if (inner !== undefined) return inner;
          break;
        }
        default:
          break;
      }
    }
    return undefined;
  };

  const pass = (chain: "PREROUTING" | "OUTPUT", asksNat: boolean): Fate => {
    moment.hook = chain === "PREROUTING" ? "in" : "out";
    let fate: Fate = { kind: "direct" };
    for (const table of TABLE_ORDER) {
      if (table === "nat" && (!asksNat || moment.state !== "NEW")) continue;
      const verdict = walkChain(table, chain);
      if (verdict === undefined || verdict === "accept") continue;
      if (verdict.kind !== "tproxied") return verdict;
      // The packet keeps its address and still passes nat, which may redirect it after all.
      fate = verdict;
    }
    return fate;
  };

  return {
    pass,
    finish: (fate: Fate): Walk => ({ fate, steps, decidedBy, mark: moment.mark, zone }),
  };
}

function compile(rules: readonly Rule[], family: Family, options: WalkerOptions): Chains {
  return new Map(
    [...arrangeRules(rules, family)].map(([chain, own]) => [
      chain,
      own.map((rule, index) => ({
        step: { table: rule.table, chain: rule.chain, number: index + 1, rule },
        tests: rule.matches.flatMap((match) => compileMatch(match, options)),
        target: rule.target,
      })),
    ]),
  );
}

function compileMatch(match: Match, options: WalkerOptions): readonly Test[] {
  if (match.kind === "other") return [() => false];
  if (match.kind === "protocol") {
    return match.only === "nft" && options.backend === "iptables"
      ? []
      : [({ protocol }) => protocol === match.protocol];
  }
  const test = positive(match, options);
  if (match.not !== true) return [test];
  // A condition on an owner that does not exist fails in nft whichever way it is put.
  const isOwner = match.kind === "uid" || match.kind === "gid";
  if (isOwner && options.backend === "nft") return [(moment) => moment[match.kind] !== undefined && !test(moment)];
  return [(moment) => !test(moment)];
}

function positive(match: Exclude<Match, { readonly kind: "other" | "protocol" }>, { names }: WalkerOptions): Test {
  switch (match.kind) {
    case "in":
    case "out": {
      const isNamed = interfaceTest(match.name);
      return (moment) => moment.hook === match.kind && isNamed(moment.device);
    }
    case "source":
    case "destination":
      return addressTest(match.kind, match.cidr);
    case "dport":
      return portTest("destinationPort", match.ports);
    case "sport":
      return portTest("sourcePort", match.ports);
    case "uid":
    case "gid": {
      const known = match.kind === "uid" ? names.users : names.groups;
      const id = Number(known.get(match.id) ?? match.id);
      return (moment) => moment[match.kind] === id;
    }
    case "ctstate":
      return ({ state }) => match.states.includes(state);
    case "mark": {
      const value = Number(match.value);
      return ({ mark }) => mark === value;
    }
    case "connmark":
      // Only the answers of a marked connection carry it, and a walk follows the first packet.
      return () => false;
  }
}

function interfaceTest(name: string): (device: string) => boolean {
  if (!name.endsWith("+")) return (device) => device === name;
  const start = name.slice(0, -1);
  return (device) => device.startsWith(start);
}

function portTest(field: "sourcePort" | "destinationPort", ports: readonly string[]): Test {
  const ranges = ports.map((port) => port.split(":").map(Number));
  const [only = []] = ranges;
  if (ranges.length === 1 && only.length === 1) {
    const [port] = only;
    return (moment) => moment.protocol !== "icmp" && moment[field] === port;
  }
  return (moment) =>
    moment.protocol !== "icmp" &&
    ranges.some(([first = 0, last = first]) => moment[field] >= first && moment[field] <= last);
}

function addressTest(field: "source" | "destination", cidr: string): Test {
  const prefix: IpPrefix | undefined = parsePrefix(cidr);
  if (prefix === undefined) return () => false;
  const masks = prefixMasks(prefix);
  const { family, words } = prefix.address;
  return (moment) => {
    const address = moment[field];
    if (address.family !== family) return false;
    for (let index = 0; index < words.length; index += 1) {
      if ((((address.words[index] ?? 0) ^ (words[index] ?? 0)) & (masks[index] ?? 0)) !== 0) return false;
    }
    return true;
  };
}
