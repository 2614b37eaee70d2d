import { formatPrefix, maskPrefix, parsePrefix } from "../../net/ip-prefix.ts";
import type { Match, Target } from "./rule.ts";

/** Names that rules may carry and the kernel replaces by numbers. */
export interface OwnerNames {
  readonly users: ReadonlyMap<string, string>;
  readonly groups: ReadonlyMap<string, string>;
}

interface Meaning {
  readonly matches: readonly Match[];
  readonly target: Target;
}

/** Equal for two rules that mean the same, however they are spelled: 1337 and 0x539, host bits, option order, owner names. */
export function ruleKey(rule: Meaning, names: OwnerNames): string {
  const matches = rule.matches.flatMap((match) => matchKey(match, names));
  return `${matches.sort().join(" ")} => ${targetKey(rule.target)}`;
}

function matchKey(match: Match, names: OwnerNames): readonly string[] {
  if (match.kind === "other") return [`other ${match.text}`];
  if (match.kind === "protocol") return match.only === "nft" ? [] : [match.protocol];
  const not = match.not === true ? "!" : "";
  switch (match.kind) {
    case "in":
    case "out":
      return [`${not}${match.kind} ${match.name}`];
    case "source":
    case "destination":
      return addressKey(`${not}${match.kind}`, match.cidr);
    case "dport":
    case "sport": {
      const ports = match.ports.map((port) => port.split(":").map(Number).join(":")).sort();
      return ports.join() === "0:65535" && not === "" ? [] : [`${not}${match.kind} ${ports.join(",")}`];
    }
    case "uid":
      return [`${not}uid ${numeric(names.users.get(match.id) ?? match.id)}`];
    case "gid":
      return [`${not}gid ${numeric(names.groups.get(match.id) ?? match.id)}`];
    case "ctstate":
      return [`${not}ctstate ${[...match.states].sort().join(",")}`];
    case "mark":
    case "connmark":
      return [`${not}${match.kind} ${numeric(match.value)}`];
  }
}

/** A prefix of length 0 matches everything, and the kernel's tools do not even print it. */
function addressKey(kind: string, cidr: string): readonly string[] {
  const bare = cidr.includes("/") ? cidr : `${cidr}/${cidr.includes(":") ? 128 : 32}`;
  const prefix = parsePrefix(bare);
  if (prefix === undefined) return [`${kind} ${cidr}`];
  return prefix.bits === 0 && !kind.startsWith("!") ? [] : [`${kind} ${formatPrefix(maskPrefix(prefix))}`];
}

function targetKey(target: Target): string {
  switch (target.kind) {
    case "jump":
      return `jump ${target.chain}`;
    case "redirect":
      return `redirect ${numeric(target.port)}`;
    case "tproxy":
      return `tproxy ${numeric(target.port)} ${numeric(target.mark)}`;
    case "set-mark":
      return `set-mark ${numeric(target.value)}`;
    case "zone":
      return `zone ${numeric(target.zone)}`;
    case "dnat":
    case "snat":
      return `${target.kind} ${target.to}`;
    case "log":
      return `log ${target.prefix}`;
    case "other":
      return `other ${target.text}`;
    default:
      return target.kind;
  }
}

function numeric(text: string): string {
  return /^(\d+|0x[0-9a-fA-F]+)$/.test(text) ? String(Number(text)) : text;
}
