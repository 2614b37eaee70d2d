import { hasOwnChains, type KernelState, ownChains, type SavedTable } from "./kernel-state.ts";
import type { SavedRule } from "./parse-iptables-rule.ts";
import { BUILT_IN_CHAINS, CHAIN_PREFIX, type Match, type TableName } from "./rule.ts";
import { type OwnerNames, ruleKey } from "./rule-key.ts";

/** A rule of ours in a chain that also belongs to others. */
export interface OwnRule {
  readonly chain: string;
  /** 1-based position in its chain. */
  readonly position: number;
  readonly rule: SavedRule;
}

export interface OwnState {
  readonly chains: readonly string[];
  readonly rules: readonly OwnRule[];
}

export interface DiscoverOptions {
  /** Keys (`table/chain key`) of rules that the present settings would write: these are ours in any form. */
  readonly planned: ReadonlySet<string>;
  readonly names: OwnerNames;
}

/**
 * Finds what a capture command left in a table, without knowing its flags. Chains carry our prefix and jumps lead to them. Rules that only
 * return by interface, mark or owner are recognised by their shape, and only next to chains of ours: a stranger's rule stays.
 */
export function discoverOwn(state: KernelState, name: TableName, options: DiscoverOptions): OwnState {
  const table = state.get(name);
  if (table === undefined) return { chains: [], rules: [] };
  const context: Evidence = { table, name, present: hasOwnChains(state), marks: usedMarks(table), options };
  const rules = [...table]
    .filter(([chain]) => !chain.startsWith(CHAIN_PREFIX))
    .flatMap(([chain, saved]) =>
      saved.flatMap((rule, index) => (isOwn(rule, index, context) ? [{ chain, position: index + 1, rule }] : [])),
    );
  return { chains: ownChains(table), rules };
}

interface Evidence {
  readonly table: SavedTable;
  readonly name: TableName;
  readonly present: boolean;
  readonly marks: ReadonlySet<number>;
  readonly options: DiscoverOptions;
}

function isOwn(rule: SavedRule, index: number, evidence: Evidence): boolean {
  const { target, chain } = rule;
  // Wherever it stands: a chain that somebody jumps to cannot be deleted.
  if (target.kind === "jump" && target.chain.startsWith(CHAIN_PREFIX)) return true;
  if (!BUILT_IN_CHAINS.has(chain)) return false;
  const key = ruleKey(rule, evidence.options.names);
  if (evidence.options.planned.has(`${evidence.name}/${chain} ${key}`)) return true;
  if (isDnsRule(rule, evidence)) return true;
  if (!evidence.present) return false;
  if (target.kind === "log") return true;
  if (evidence.name === "mangle" && isMarkRule(rule, evidence)) return true;
  return target.kind === "return" && isInterfaceReturn(rule, index, evidence);
}

/** Query rules that older generations wrote into the built-in chains; the agent's port or the zones give them away. */
function isDnsRule({ matches, target }: SavedRule, { name, present }: Evidence): boolean {
  const udp = matches.some((match) => match.kind === "protocol" && match.protocol === "udp");
  if (!udp) return false;
  const ports = matches.flatMap((match) => (match.kind === "dport" || match.kind === "sport" ? match.ports : []));
  if (name === "raw") return target.kind === "zone" && ["1", "2"].includes(target.zone) && isDnsPort(ports);
  if (name !== "nat" || !isDnsPort(ports)) return false;
  if (target.kind === "redirect") return target.port === "15053";
  if (target.kind === "dnat") return /^127\.0\.0\.1:(15013|15053)$/.test(target.to);
  if (target.kind === "snat") return target.to === "127.0.0.1" && !ports.includes("53");
  return present && target.kind === "return" && matches.some((match) => match.kind === "uid" || match.kind === "gid");
}

function isDnsPort(ports: readonly string[]): boolean {
  return ports.length === 1 && ports.every((port) => ["53", "15013", "15053"].includes(port));
}

/** Marks that our own chains of a table set or ask for. */
export function usedMarks(table: SavedTable): ReadonlySet<number> {
  const rules = ownChains(table).flatMap((chain) => table.get(chain) ?? []);
  const texts = rules.flatMap(({ matches, target }) => [
    ...(target.kind === "set-mark" ? [target.value] : []),
    ...(target.kind === "tproxy" ? [target.mark] : []),
    ...matches.flatMap((match) => (match.kind === "mark" ? [match.value] : [])),
  ]);
  return new Set(texts.map(Number));
}

function isMarkRule({ matches, target }: SavedRule, { marks }: Evidence): boolean {
  const known = matches.some(
    (match) => (match.kind === "mark" || match.kind === "connmark") && marks.has(Number(match.value)),
  );
  switch (target.kind) {
    case "save-mark":
    case "restore-mark":
      return known;
    case "return":
      return known && matches.some((match) => match.kind === "out" && match.name === "lo");
    case "set-mark":
      return Number(target.value) === 1338 || (marks.has(Number(target.value)) && matches.some(isFromLoopback));
    default:
      return false;
  }
}

function isFromLoopback(match: Match): boolean {
  return match.kind === "source" && match.cidr.startsWith("127.0.0.1");
}

/**
 * `-i X -j RETURN` is ours when OUTPUT has its twin `-o X -j RETURN` (an excluded interface), or when it is in the block of interface rules
 * that virtual interfaces put on top of nat/PREROUTING. Where that block also redirects, only its interfaces count.
 */
function isInterfaceReturn(rule: SavedRule, index: number, { table, name }: Evidence): boolean {
  const [match, ...more] = rule.matches;
  if (more.length > 0 || match === undefined || (match.kind !== "in" && match.kind !== "out")) return false;
  const [twinChain, twinKind] = match.kind === "in" ? (["OUTPUT", "out"] as const) : (["PREROUTING", "in"] as const);
  if (rule.chain !== (match.kind === "in" ? "PREROUTING" : "OUTPUT")) return false;
  if (table.get(twinChain)?.some((other) => isReturnBy(other, twinKind, match.name))) return true;
  if (name !== "nat" || match.kind !== "in") return false;
  const above = table.get("PREROUTING")?.slice(0, index) ?? [];
  if (!above.every((other) => interfaceOf(other) !== undefined || other.target.kind === "log")) return false;
  const redirected = above.filter((other) => other.target.kind === "jump").map((other) => interfaceOf(other));
  return redirected.length === 0 || redirected.includes(match.name);
}

function isReturnBy(rule: SavedRule, kind: "in" | "out", interfaceName: string): boolean {
  const [match, ...more] = rule.matches;
  return rule.target.kind === "return" && more.length === 0 && match?.kind === kind && match.name === interfaceName;
}

function interfaceOf({ matches }: SavedRule): string | undefined {
  return matches.flatMap((match) => (match.kind === "in" ? [match.name] : []))[0];
}
