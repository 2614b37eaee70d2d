import type { Match, Protocol, Rule, Target } from "./rule.ts";
import { type OwnerNames, ruleKey } from "./rule-key.ts";

/** What `nft -j list table` says, as far as rules of ours are concerned. */
export interface NftTableState {
  readonly chains: readonly string[];
  /** Keys of the rules by chain, in order. */
  readonly keys: ReadonlyMap<string, readonly string[]>;
  /** Marks that the rules set or ask for. */
  readonly marks: ReadonlySet<number>;
}

type Json = unknown;

/** Undefined when the text is not a listing. Rules of others in our tables become keys that equal none of ours. */
export function parseNftTable(text: string): NftTableState | undefined {
  let listing: Json;
  try {
    listing = JSON.parse(text);
  } catch {
    return undefined;
  }
  const entries = field(listing, "nftables");
  if (!Array.isArray(entries)) return undefined;
  const chains: string[] = [];
  const keys = new Map<string, string[]>();
  const marks = new Set<number>();
  for (const entry of entries) {
    const chain = field(field(entry, "chain"), "name");
    if (typeof chain === "string") chains.push(chain);
    const rule = field(entry, "rule");
    const [name, expressions] = [field(rule, "chain"), field(rule, "expr")];
    if (typeof name !== "string" || !Array.isArray(expressions)) continue;
    const parsed = parseExpressions(expressions);
    for (const match of parsed.matches) if (match.kind === "mark") marks.add(Number(match.value));
    if (parsed.target.kind === "set-mark") marks.add(Number(parsed.target.value));
    if (parsed.target.kind === "tproxy") marks.add(Number(parsed.target.mark));
    keys.set(name, [...(keys.get(name) ?? []), ruleKey(parsed, { users: new Map(), groups: new Map() })]);
  }
  return { chains, keys, marks };
}

/** The key of a rule of ours as its listing has it: protocols that a port match implies are there too. */
export function nftRuleKey(rule: Rule, names: OwnerNames): string {
  const matches = rule.matches.map((match) =>
    match.kind === "protocol" ? { kind: match.kind, protocol: match.protocol } : match,
  );
  const target: Target =
    rule.target.kind === "jump" ? { kind: "jump", chain: chainName(rule.target.chain) } : rule.target;
  return ruleKey({ matches, target }, names);
}

function chainName(chain: string): string {
  return chain.toLowerCase().replaceAll("_", "-");
}

function parseExpressions(expressions: readonly Json[]): {
  readonly matches: readonly Match[];
  readonly target: Target;
} {
  const matches: Match[] = [];
  let protocol: Protocol | undefined;
  let target: Target | undefined;
  for (const expression of expressions) {
    const match = field(expression, "match");
    if (match !== undefined) {
      const payload = field(field(field(match, "left"), "payload"), "protocol");
      if (payload === "tcp" || payload === "udp") protocol = payload;
      const parsed = parseMatch(match);
      if (parsed.kind === "protocol") protocol = parsed.protocol;
      else matches.push(parsed);
    } else if (field(expression, "counter") === undefined) {
      target = joinTargets(target, expression);
    }
  }
  if (protocol !== undefined) matches.push({ kind: "protocol", protocol });
  return { matches, target: target ?? { kind: "other", text: "none" } };
}

/** TPROXY is three statements: where to, the mark, and the verdict. */
function joinTargets(before: Target | undefined, expression: Json): Target {
  const target = parseTarget(expression);
  if (before?.kind !== "tproxy") return target;
  if (target.kind === "set-mark") return { ...before, mark: target.value };
  return target.kind === "accept" ? before : { kind: "other", text: JSON.stringify(expression) };
}

function parseMatch(match: Json): Match {
  const left = field(match, "left");
  const right = field(match, "right");
  const not = field(match, "op") === "!=" ? { not: true } : {};
  const foreign: Match = { kind: "other", text: JSON.stringify(match) };
  const meta = field(field(left, "meta"), "key");
  const ct = field(field(left, "ct"), "key");
  const payload = field(left, "payload");
  if (typeof payload === "object") {
    const [name, value] = [field(payload, "field"), values(right)];
    if (name === "saddr") return { kind: "source", cidr: value.join(), ...not };
    if (name === "daddr") return { kind: "destination", cidr: value.join(), ...not };
    return name === "dport" || name === "sport" ? { kind: name, ports: value, ...not } : foreign;
  }
  const text = values(right).join();
  if (ct === "state") return { kind: "ctstate", states: values(right).map((state) => state.toUpperCase()), ...not };
  if (ct === "mark") return { kind: "connmark", value: text, ...not };
  switch (meta) {
    case "l4proto":
      // Everything but one protocol is nothing that we would ask for.
      return (text === "tcp" || text === "udp") && !("not" in not) ? { kind: "protocol", protocol: text } : foreign;
    case "iifname":
      return { kind: "in", name: text.replace(/\*$/, "+"), ...not };
    case "oifname":
      return { kind: "out", name: text.replace(/\*$/, "+"), ...not };
    case "skuid":
      return { kind: "uid", id: text, ...not };
    case "skgid":
      return { kind: "gid", id: text, ...not };
    case "mark":
      return { kind: "mark", value: text, ...not };
    default:
      return foreign;
  }
}

function parseTarget(expression: Json): Target {
  const foreign: Target = { kind: "other", text: JSON.stringify(expression) };
  const [[kind, value] = ["", undefined]] =
    typeof expression === "object" && expression !== null ? Object.entries(expression) : [];
  switch (kind) {
    case "return":
    case "accept":
    case "drop":
      return { kind };
    case "jump":
      return { kind, chain: String(field(value, "target")) };
    case "redirect":
      return { kind, port: String(field(value, "port")) };
    case "tproxy":
      return { kind, port: String(field(value, "port")), mark: "" };
    case "log":
      return { kind, prefix: String(field(value, "prefix")) };
    case "dnat":
    case "snat": {
      const port = field(value, "port");
      return { kind, to: `${field(value, "addr")}${port === undefined ? "" : `:${port}`}` };
    }
    case "mangle":
      return parseMangle(value) ?? foreign;
    default:
      return foreign;
  }
}

function parseMangle(value: Json): Target | undefined {
  const key = field(value, "key");
  const set = field(value, "value");
  if (field(field(key, "meta"), "key") === "mark") {
    return field(field(set, "ct"), "key") === "mark"
      ? { kind: "restore-mark" }
      : { kind: "set-mark", value: String(set) };
  }
  const ct = field(field(key, "ct"), "key");
  if (ct === "zone") return { kind: "zone", zone: String(set) };
  return ct === "mark" && field(field(set, "meta"), "key") === "mark" ? { kind: "save-mark" } : undefined;
}

/** A number, a name, a prefix, a range, or several of them. */
function values(right: Json): readonly string[] {
  const set = field(right, "set");
  if (Array.isArray(set)) return set.flatMap(values);
  if (Array.isArray(right)) return right.flatMap(values);
  const prefix = field(right, "prefix");
  if (prefix !== undefined) return [`${field(prefix, "addr")}/${field(prefix, "len")}`];
  const range = field(right, "range");
  if (Array.isArray(range)) return [range.join(":")];
  return [String(right)];
}

function field(value: Json, name: string): Json {
  if (typeof value !== "object" || value === null || !(name in value)) return undefined;
  return (value as Readonly<Record<string, Json>>)[name];
}
