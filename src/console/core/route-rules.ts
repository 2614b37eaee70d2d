import { parseDurationMs } from "../../base/duration.ts";
import { asJsonObject } from "../../base/json-object.ts";
import { resolveShortHost } from "../../istio-api/values/hostname.ts";

/** As much of a rule object as the console reads: documents as their users wrote them. */
export interface RuleDocument {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** What rules say about one host. */
export interface HostRules {
  /** Shares of the route without conditions by subset, empty for the service itself; together 100. */
  readonly weights: ReadonlyMap<string, number>;
  /** The label `version` that a subset selects. */
  readonly versions: ReadonlyMap<string, string>;
  readonly abortStatus: number | undefined;
  readonly delayMs: number | undefined;
}

/** `reviews` in `shop` is `reviews.shop.svc.cluster.local`. */
export function fullHost(host: string, namespace: string): string {
  return resolveShortHost(host, namespace, "cluster.local");
}

/** Rules by host. Of several objects for one host the first counts, as in the control plane. */
export function rulesByHost(documents: readonly RuleDocument[]): ReadonlyMap<string, HostRules> {
  const found = new Map<string, Mutable<HostRules>>();
  const of = (host: string) => {
    const rules = found.get(host) ?? {
      weights: new Map(),
      versions: new Map(),
      abortStatus: undefined,
      delayMs: undefined,
    };
    found.set(host, rules);
    return rules;
  };
  for (const { kind, namespace, spec } of documents) {
    if (kind === "DestinationRule") {
      const rules = of(fullHost(String(spec.host ?? ""), namespace));
      rules.versions = new Map([...rules.versions, ...list(spec.subsets).flatMap(subsetVersion)]);
    }
    if (kind !== "VirtualService") continue;
    for (const host of list(spec.hosts).map((each) => fullHost(String(each), namespace))) {
      const routes = list(spec.http).map(asJsonObject);
      const rules = of(host);
      if (rules.weights.size === 0) rules.weights = weightsOf(routes.find((route) => list(route.match).length === 0));
      for (const route of routes) {
        const { abort, delay } = asJsonObject(route.fault);
        rules.abortStatus ??= abort === undefined ? undefined : Number(asJsonObject(abort).httpStatus ?? 503);
        rules.delayMs ??= delay === undefined ? undefined : durationMs(String(asJsonObject(delay).fixedDelay ?? ""));
      }
    }
  }
  return found;
}

/** Shares in percent; a single destination needs no weight. */
function weightsOf(route: Readonly<Record<string, unknown>> | undefined): ReadonlyMap<string, number> {
  const destinations = list(route?.route).map(asJsonObject);
  const sum = destinations.reduce((total, { weight }) => total + Number(weight ?? 0), 0);
  const shares = new Map<string, number>();
  for (const { destination, weight } of destinations) {
    const subset = String(asJsonObject(destination).subset ?? "");
    const share = destinations.length === 1 ? 100 : sum === 0 ? 0 : (100 * Number(weight ?? 0)) / sum;
    shares.set(subset, (shares.get(subset) ?? 0) + share);
  }
  return shares;
}

/** Undefined for what is no duration. */
function durationMs(text: string): number | undefined {
  try {
    return parseDurationMs(text);
  } catch {
    return undefined;
  }
}

function subsetVersion(subset: unknown): [string, string][] {
  const { name, labels } = asJsonObject(subset);
  const { version } = asJsonObject(labels);
  return typeof name === "string" && typeof version === "string" ? [[name, version]] : [];
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

type Mutable<Of> = { -readonly [Member in keyof Of]: Of[Member] };
