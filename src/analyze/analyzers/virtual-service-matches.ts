import { isJsonObject } from "../../base/json-object.ts";
import type { VirtualServiceSpec } from "../../istio-api/specs.ts";
import type { AnalyzedMesh, AnalyzedObject } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";

type Rules = VirtualServiceSpec["http" | "tls" | "tcp"];

/** Rules and matches behind others that take all their requests. */
export function shadowedRoutes(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const { document, rule } of mesh.rules("VirtualService")) {
    for (const member of ["http", "tls", "tcp"] as const) checkRules(member, rule.spec[member], document, report);
  }
}

function checkRules(member: "http" | "tls" | "tcp", rules: Rules, document: AnalyzedObject, report: ReportFinding) {
  const seen: { readonly match: Match; readonly rule: number }[] = [];
  let catchAll: number | undefined;
  rules.forEach((rule, at) => {
    const name = ruleName(member, rule, at);
    const matches = rule.match.map((match): Match => Object.fromEntries(conditions({ ...match })));
    if (catchAll !== undefined) {
      const text = `rule ${name} is not used: ${ruleName(member, rules[catchAll], catchAll)} before it takes every request`;
      report("VirtualServiceUnreachableRule", document, text, ["spec", member, at]);
      return;
    }
    const repeated = matches.map((match, index) => {
      const own = matches.slice(0, index).find((other) => covers(other, match, "prefix-in-prefix"));
      return own === undefined
        ? seen.find((other) => covers(other.match, match, "any-in-prefix"))
        : { match: own, rule: at };
    });
    const isCopied = (index: number) => seen.some((other) => same(other.match, matches[index]));
    if (matches.length > 0 && matches.every((_match, index) => isCopied(index))) {
      const text = `rule ${name} is not used: rules before it have all its matches`;
      report("VirtualServiceUnreachableRule", document, text, ["spec", member, at]);
    }
    repeated.forEach((other, index) => {
      if (other === undefined) return;
      const by = ruleName(member, rules[other.rule], other.rule);
      const text = `match #${index} of rule ${name} is not used: a match of rule ${by} takes its requests`;
      report("VirtualServiceIneffectiveMatch", document, text, ["spec", member, at, "match", index]);
    });
    if (matches.length === 0 || matches.some(isAny)) catchAll = at;
    for (const match of matches) seen.push({ match, rule: at });
  });
}

function ruleName(member: string, rule: Rules[number] | undefined, at: number): string {
  const name = rule !== undefined && "name" in rule ? rule.name : "";
  return name === "" ? `${member}[${at}]` : JSON.stringify(name);
}

type Match = Readonly<Record<string, unknown>>;

/** Whether an exact path lies within a prefix, too: in one rule such a pair is a matter of taste. */
type Containment = "prefix-in-prefix" | "any-in-prefix";

/** Every request that `inner` takes `outer` takes as well: each condition of `outer` is one of `inner`, the same or narrower. */
function covers(outer: Match, inner: Match, paths: Containment): boolean {
  return Object.entries(outer).every(([name, value]) => {
    const other = inner[name];
    if (same(value, other)) return true;
    if (name === "uri") return isWithin(value, other, paths);
    if (isJsonObject(value) && isJsonObject(other)) {
      return Object.entries(value).every(([key, wanted]) => same(wanted, other[key]));
    }
    return false;
  });
}

/** What of a match narrows it: members that are set. The name of a match, and how its text is compared, are not. */
function conditions(match: Match): readonly (readonly [string, unknown])[] {
  return Object.entries(match).filter(
    ([name, value]) => !["name", "statPrefix", "ignoreUriCase"].includes(name) && isSet(value),
  );
}

function isSet(value: unknown): boolean {
  if (value === undefined || value === "" || value === 0 || value === false) return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== "object" || value === null || Object.keys(value).length > 0;
}

function isAny(match: Match): boolean {
  const set = Object.entries(match);
  const [only] = set;
  return set.length === 0 || (set.length === 1 && only?.[0] === "uri" && prefixOf(only[1]) === "/");
}

/** `/a` holds what begins with it. */
function isWithin(outer: unknown, inner: unknown, paths: Containment): boolean {
  const prefix = prefixOf(outer);
  const narrower = prefixOf(inner) ?? (paths === "any-in-prefix" ? textOf(inner, "exact") : undefined);
  return prefix !== undefined && narrower?.startsWith(prefix) === true;
}

function prefixOf(value: unknown): string | undefined {
  return textOf(value, "prefix");
}

function textOf(value: unknown, form: "prefix" | "exact"): string | undefined {
  const found = isJsonObject(value) ? value[form] : undefined;
  return typeof found === "string" ? found : undefined;
}

function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isSet(a) && !isSet(b)) return true;
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, part]) => [name, sorted(part)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}
