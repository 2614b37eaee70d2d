import type { Family, Match, Rule } from "./rule.ts";

/** One rule in the words of iptables; what the text forms below are made of. */
export interface IptablesRule {
  readonly table: string;
  readonly chain: string;
  readonly position?: number;
  readonly params: readonly string[];
}

/** The rules of one IP version, in order. */
export function toIptables(rules: readonly Rule[], family: Family): readonly IptablesRule[] {
  return rules
    .filter((rule) => rule.family === "any" || rule.family === family)
    .map((rule) => ({
      table: rule.table,
      chain: rule.chain,
      ...(rule.position === undefined ? {} : { position: rule.position }),
      params: [...rule.matches.flatMap(matchArgs), ...targetArgs(rule)],
    }));
}

function matchArgs(match: Match): readonly string[] {
  if (match.kind === "other") return [match.text];
  if (match.kind === "protocol") return match.only === "nft" ? [] : ["-p", match.protocol];
  const not = match.not === true ? ["!"] : [];
  switch (match.kind) {
    case "in":
      return [...not, "-i", match.name];
    case "out":
      return [...not, "-o", match.name];
    case "source":
      return [...not, "-s", match.cidr];
    case "destination":
      return [...not, "-d", match.cidr];
    case "dport":
    case "sport":
      if (match.ports.length === 1) return [...not, `--${match.kind}`, match.ports.join()];
      return ["-m", "multiport", ...not, `--${match.kind}s`, match.ports.join(",")];
    case "uid":
    case "gid":
      return ["-m", "owner", ...not, `--${match.kind}-owner`, match.id];
    case "ctstate":
      return ["-m", "conntrack", ...not, "--ctstate", match.states.join(",")];
    case "mark":
    case "connmark":
      return ["-m", match.kind, ...not, "--mark", match.value];
  }
}

function targetArgs({ target, matches }: Rule): readonly string[] {
  switch (target.kind) {
    case "jump":
      return ["-j", target.chain];
    case "return":
    case "accept":
    case "drop":
      return ["-j", target.kind.toUpperCase()];
    case "redirect":
      return ["-j", "REDIRECT", redirectOption(matches), target.port];
    case "tproxy":
      return ["-j", "TPROXY", "--tproxy-mark", `${target.mark}/0xffffffff`, "--on-port", target.port];
    case "set-mark":
      return ["-j", "MARK", "--set-mark", target.value];
    case "save-mark":
    case "restore-mark":
      return ["-j", "CONNMARK", `--${target.kind}`];
    case "zone":
      return ["-j", "CT", "--zone", target.zone];
    case "dnat":
      return ["-j", "DNAT", "--to-destination", target.to];
    case "snat":
      return ["-j", "SNAT", "--to-source", target.to];
    case "log":
      return ["-j", "NFLOG", "--nflog-prefix", `"${target.prefix}"`, "--nflog-group", "1337", "--nflog-size", "20"];
    case "other":
      return [target.text];
  }
}

/** The published rule sets abbreviate the option in UDP rules; both spellings mean the same. */
function redirectOption(matches: readonly Match[]): string {
  return matches.some((match) => match.kind === "protocol" && match.protocol === "udp") ? "--to-port" : "--to-ports";
}
