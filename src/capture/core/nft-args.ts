import type { Family, Match, Rule, TableName } from "./rule.ts";

/** One rule in the words of nft. */
export interface NftRule {
  readonly table: string;
  readonly chain: string;
  /** 0-based index of an insert; absent for an add. */
  readonly index?: number;
  readonly words: readonly string[];
}

/** One list for both IP versions: tables are of family inet. */
export function toNft(rules: readonly Rule[]): readonly NftRule[] {
  return rules.map((rule) => ({
    table: nftTable(rule.table),
    chain: nftChain(rule.chain),
    ...(rule.position === undefined ? {} : { index: rule.position - 1 }),
    words: [...matchWords(rule), ...targetWords(rule)],
  }));
}

export function nftTable(table: string): string {
  return `istio-proxy-${table}`;
}

export function nftChain(chain: string): string {
  return chain.toLowerCase().replaceAll("_", "-");
}

type Kind = Match["kind"];

/** The order in which nft rules name their conditions; the raw table puts ports before addresses. */
const ORDER: readonly Kind[] = [
  "in",
  "out",
  "protocol",
  "mark",
  "connmark",
  "ctstate",
  "source",
  "destination",
  "dport",
  "sport",
  "uid",
  "gid",
];
const RAW_ORDER: readonly Kind[] = ["in", "out", "protocol", "dport", "sport", "source", "destination", "uid", "gid"];

function matchWords(rule: Rule): readonly string[] {
  const order = rule.table === "raw" ? RAW_ORDER : ORDER;
  const sorted = [...rule.matches].sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind));
  const protocol = rule.matches.find((match) => match.kind === "protocol")?.protocol ?? "tcp";
  return sorted.flatMap((match) => words(match, { protocol, family: rule.family, table: rule.table }));
}

interface Surroundings {
  readonly protocol: string;
  readonly family: Family | "any";
  readonly table: TableName;
}

function words(match: Match, { protocol, family, table }: Surroundings): readonly string[] {
  if (match.kind === "other") return [match.text];
  if (match.kind === "protocol") return match.only === "iptables" ? [] : ["meta", "l4proto", match.protocol];
  const not = match.not === true ? ["!="] : [];
  switch (match.kind) {
    case "in":
      return ["iifname", ...not, interfaceName(match.name)];
    case "out":
      return ["oifname", ...not, interfaceName(match.name)];
    case "source":
      return [family === "v6" ? "ip6" : "ip", "saddr", ...not, match.cidr];
    case "destination":
      return [family === "v6" ? "ip6" : "ip", "daddr", ...not, match.cidr];
    case "dport":
    case "sport":
      return [protocol, match.kind, ...not, portSet(match.ports)];
    case "uid":
    case "gid":
      return [...(table === "raw" ? ["meta"] : []), `sk${match.kind}`, ...not, name(match.id)];
    case "ctstate":
      return ["ct", "state", ...not, match.states.join(",").toLowerCase()];
    case "mark":
      return ["mark", ...not, match.value];
    case "connmark":
      return ["ct", "mark", ...not, match.value];
  }
}

function targetWords({ target, family }: Rule): readonly string[] {
  switch (target.kind) {
    case "jump":
      return ["counter", "jump", nftChain(target.chain)];
    case "return":
    case "accept":
    case "drop":
      return ["counter", target.kind];
    case "redirect":
      return ["counter", "redirect", "to", `:${target.port}`];
    case "tproxy": {
      const version = family === "v6" ? "ip6" : "ip";
      return ["tproxy", version, "to", `:${target.port}`, "meta", "mark", "set", target.mark, "counter", "accept"];
    }
    case "set-mark":
      return ["counter", "meta", "mark", "set", target.value];
    case "save-mark":
      return ["counter", "ct", "mark", "set", "mark"];
    case "restore-mark":
      return ["counter", "meta", "mark", "set", "ct", "mark"];
    case "zone":
      return ["counter", "ct", "zone", "set", target.zone];
    case "dnat":
      return ["counter", "dnat", "ip", "to", target.to];
    case "snat":
      return ["counter", "snat", "ip", "to", target.to];
    case "log":
      return ["log", "prefix", `"${target.prefix}"`, "group", "1337", "snaplen", "20"];
    case "other":
      return [target.text];
  }
}

/** iptables writes ranges with a colon and interface wildcards with a plus. */
function portSet(ports: readonly string[]): string {
  const written = ports.map((port) => port.replace(":", "-"));
  return written.length === 1 ? written.join() : `{ ${written.join(", ")} }`;
}

function interfaceName(written: string): string {
  return name(written.replace(/\+$/, "*"));
}

/** Words of nft's own language: an interface called bridge, or a user called mark, is only one in quotes. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    "add all and bridge chain comment continue counter create ct dccp delete describe destroy drop dup dynamic " +
    "element elements exthdr fib flow flowtable flush fwd geneve goto gre handle hook hour icmp icmpv6 iif iifname " +
    "import inet inner insert interval ipsec jump last limit list log map mark masquerade meta meter monitor netdev " +
    "notrack numgen oif oifname or osf pkttype policy position priority queue quota redirect reject rename replace " +
    "reset return rt rule ruleset sctp secmark set size socket synproxy table tcp th time timeout tproxy type " +
    "typeof udp undefine update vmap vxlan xor xt"
  ).split(" "),
);

function name(text: string): string {
  const isPlain = /^([A-Za-z][A-Za-z0-9/_.-]*\*?|\d+)$/.test(text) && !KEYWORDS.has(text);
  return isPlain ? text : `"${text}"`;
}
