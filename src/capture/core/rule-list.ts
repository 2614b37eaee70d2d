import { isLoopback } from "../../net/ip.ts";
import { formatPrefix, maskPrefix, parsePrefix } from "../../net/ip-prefix.ts";
import type { Family, Match, Rule, TableName, Target } from "./rule.ts";
import { type CaptureSettings, splitList } from "./settings.ts";

/** Marks a rule for trace logging: its twin with the same match and an NFLOG target runs just before it. */
export type TraceId =
  | "JumpInbound"
  | "JumpOutbound"
  | "ExcludeInboundPort"
  | "IncludeInboundPort"
  | "InboundCapture"
  | "KubevirtCommand"
  | "ExcludeInterfaceCommand";

export interface RuleDraft {
  readonly table: TableName;
  readonly chain: string;
  readonly family?: Family | "any";
  readonly position?: number;
  readonly matches?: readonly Match[];
  readonly target: Target;
  readonly trace?: TraceId;
}

/** What the steps of a generation write into, and what they may ask. */
export interface RuleList {
  readonly settings: CaptureSettings;
  readonly rules: readonly Rule[];
  /** IP versions that get rules, in the order they are written. */
  readonly families: readonly Family[];
  /** DNS is really captured: asked for, and there is a resolver to capture or all of them are. */
  readonly dns: boolean;
  /** The outbound include list names a loopback address. */
  readonly loopbackIncluded: boolean;
  add(draft: RuleDraft): void;
  /** `*` for the wildcard, else the prefixes of that family in canonical text. */
  ranges(which: "include" | "exclude", family: Family): "*" | readonly string[];
  resolvers(family: Family): readonly string[];
}

export type Step = (list: RuleList) => void;

export interface RuleListOptions {
  /** 1.7 printed the network, later generations the prefix as written. */
  readonly masksPrefixes: boolean;
}

export function createRuleList(settings: CaptureSettings, options: RuleListOptions): RuleList {
  const rules: Rule[] = [];
  const families: readonly Family[] = settings.ipv6 ? ["v4", "v6"] : ["v4"];
  const include = splitRanges(settings.outboundIpRangesInclude, options.masksPrefixes);
  const exclude = splitRanges(settings.outboundIpRangesExclude, options.masksPrefixes);
  const hasResolver = settings.dnsServersV4.length > 0 || settings.dnsServersV6.length > 0;
  return {
    settings,
    rules,
    families,
    dns: settings.redirectDns && (settings.captureAllDns || hasResolver),
    loopbackIncluded: include.loopback,
    add(draft) {
      const family = draft.family ?? "any";
      if (family === "v6" && !settings.ipv6) return;
      const { trace, matches = [], ...rest } = draft;
      const rule: Rule = { ...rest, matches, family };
      const twin: Rule | undefined =
        settings.traceLogging && trace !== undefined ? { ...rule, target: { kind: "log", prefix: trace } } : undefined;
      // An inserted twin comes second and so lands above its rule; an appended one must come first.
      if (twin !== undefined && rule.position === undefined) rules.push(twin);
      rules.push(rule);
      if (twin !== undefined && rule.position !== undefined) rules.push(twin);
    },
    ranges: (which, family) => (which === "include" ? include : exclude)[family],
    resolvers: (family) => (family === "v4" ? settings.dnsServersV4 : settings.dnsServersV6),
  };
}

/** The same list for steps that speak for one IP version only. */
export function onlyFamily(family: Family, steps: readonly Step[]): Step {
  return (list) => {
    if (!list.families.includes(family)) return;
    const narrowed: RuleList = {
      ...list,
      families: [family],
      add: (draft) => {
        if (draft.family === undefined || draft.family === "any" || draft.family === family)
          list.add({ ...draft, family });
      },
    };
    for (const step of steps) step(narrowed);
  };
}

function splitRanges(text: string, masks: boolean) {
  if (text === "*") return { v4: "*" as const, v6: "*" as const, loopback: false };
  const prefixes = splitList(text).flatMap((element) => parsePrefix(element) ?? []);
  const of = (family: 4 | 6) =>
    prefixes
      .filter((prefix) => prefix.address.family === family)
      .map((prefix) => formatPrefix(masks ? maskPrefix(prefix) : prefix));
  return { v4: of(4), v6: of(6), loopback: prefixes.some((prefix) => isLoopback(prefix.address)) };
}
