import type { Match, Protocol, Target } from "./rule.ts";

/** A rule as the kernel lists it: the line itself, to give it back unchanged, and its meaning. */
export interface SavedRule {
  readonly line: string;
  readonly chain: string;
  readonly matches: readonly Match[];
  readonly target: Target;
}

/** Words of a line; quotes group and disappear, as in iptables' own reader. */
export function splitWords(line: string): readonly string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

/** Understands what we write and what iptables prints for it; the rest becomes `other`, which never equals a rule of ours. */
export function parseIptablesRule(line: string): SavedRule {
  const reader = createReader(splitWords(line));
  const [, chain = ""] = [reader.next(), reader.next()];
  const matches: Match[] = [];
  const foreign: string[] = [];
  let module = "";
  let target: Target | undefined;
  let not = false;
  for (let word = reader.next(); word !== undefined; word = reader.next()) {
    if (word === "!") {
      not = true;
      continue;
    }
    if (word === "-m") module = reader.next() ?? "";
    else if (word === "-j") target = readTarget(reader);
    else {
      const match = readMatch(word, module, reader);
      if (match === undefined) foreign.push(...(not ? ["!"] : []), word);
      // Everything but one protocol is nothing that we would ask for.
      else if (match.kind !== "protocol") matches.push(not ? { ...match, not } : match);
      else if (not) foreign.push("!", word, match.protocol);
      else matches.push(match);
    }
    not = false;
  }
  if (foreign.length > 0) matches.push({ kind: "other", text: foreign.join(" ") });
  return { line, chain, matches, target: target ?? { kind: "other", text: "" } };
}

interface WordReader {
  next(): string | undefined;
  peek(): string | undefined;
}

function createReader(words: readonly string[]): WordReader {
  let at = 0;
  return { next: () => words[at++], peek: () => words[at] };
}

type Negatable = Exclude<Match, { readonly kind: "other" }>;

function readMatch(word: string, module: string, reader: WordReader): Negatable | undefined {
  const value = () => reader.next() ?? "";
  switch (word) {
    case "-p":
      return isProtocol(reader.peek()) ? { kind: "protocol", protocol: value() as Protocol } : undefined;
    case "-i":
      return { kind: "in", name: value() };
    case "-o":
      return { kind: "out", name: value() };
    case "-s":
      return { kind: "source", cidr: value() };
    case "-d":
      return { kind: "destination", cidr: value() };
    case "--dport":
    case "--dports":
      return { kind: "dport", ports: value().split(",") };
    case "--sport":
    case "--sports":
      return { kind: "sport", ports: value().split(",") };
    case "--uid-owner":
      return { kind: "uid", id: value() };
    case "--gid-owner":
      return { kind: "gid", id: value() };
    case "--ctstate":
      return { kind: "ctstate", states: value().split(",") };
    case "--mark":
      return module === "mark" || module === "connmark" ? { kind: module, value: value() } : undefined;
    default:
      return undefined;
  }
}

function isProtocol(word: string | undefined): boolean {
  return word === "tcp" || word === "udp";
}

function readTarget(reader: WordReader): Target {
  const name = reader.next() ?? "";
  const options = new Map<string, string>();
  for (let word = reader.next(); word !== undefined; word = reader.next()) {
    const flag = word === "--save-mark" || word === "--restore-mark";
    options.set(word, flag ? "" : (reader.next() ?? ""));
  }
  return knownTarget(name, options) ?? { kind: "other", text: [name, ...[...options].flat()].join(" ") };
}

function knownTarget(name: string, options: ReadonlyMap<string, string>): Target | undefined {
  const get = (...names: readonly string[]) =>
    names.map((option) => options.get(option)).find((text) => text !== undefined) ?? "";
  switch (name) {
    case "RETURN":
    case "ACCEPT":
    case "DROP":
      return { kind: name.toLowerCase() as "return" | "accept" | "drop" };
    case "REDIRECT":
      return { kind: "redirect", port: get("--to-ports", "--to-port") };
    case "TPROXY":
      return { kind: "tproxy", port: get("--on-port"), mark: withoutFullMask(get("--tproxy-mark")) };
    case "MARK":
      return { kind: "set-mark", value: withoutFullMask(get("--set-mark", "--set-xmark")) };
    case "CONNMARK":
      if (options.has("--save-mark")) return { kind: "save-mark" };
      return options.has("--restore-mark") ? { kind: "restore-mark" } : undefined;
    case "CT":
      return options.has("--zone") ? { kind: "zone", zone: get("--zone") } : undefined;
    case "DNAT":
      return { kind: "dnat", to: get("--to-destination") };
    case "SNAT":
      return { kind: "snat", to: get("--to-source") };
    case "NFLOG":
      return get("--nflog-group") === "1337" ? { kind: "log", prefix: get("--nflog-prefix") } : undefined;
    default:
      // Extension targets take options or are in capitals only; a plain word is a chain.
      return options.size === 0 ? { kind: "jump", chain: name } : undefined;
  }
}

function withoutFullMask(text: string): string {
  return text.replace(/\/0xffffffff$/i, "");
}
