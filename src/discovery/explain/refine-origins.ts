import { createResourceSource } from "../../envoy-config/index.ts";
import { compareText } from "../../istio-api/config-object.ts";
import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import type { FilterChain, Listener } from "../../protobuf/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { Origin } from "../../simulate/index.ts";
import { type Effect, effectsOn, type Looked } from "./effects-on.ts";
import { resourceNamed } from "./resources-of.ts";
import { type ExplainedPart, type Explanation, portTitle } from "./why.ts";

const WHOLE = "";

/**
 * The same with origins proved by trying: an object that shapes a resource or a part of it is among its origins, and one that would, if
 * another did not come before it, names that one. It takes resources of its own: those that are served are not touched. After `limitMs` the rest
 * has the origins that the indexes know.
 */
export function refineOrigins(
  view: ProxyView,
  explanations: readonly Explanation[],
  limitMs = Number.POSITIVE_INFINITY,
): readonly Explanation[] {
  const end = performance.now() + limitMs;
  const isLate = () => performance.now() > end;
  const source = createResourceSource({ onProblem: () => undefined });
  return explanations.map((explanation) => {
    const { type, name, parts } = explanation;
    if (type === "nds" || type === "ecds") return explanation;
    const effects = effectsOn(view, (one) => lookAt(type, resourceNamed(one, type, name, source), parts), isLate);
    return {
      ...explanation,
      // Routes have the origins of their virtual hosts.
      origins: type === "rds" ? explanation.origins : merged(explanation.origins, effects(WHOLE)),
      parts: parts.map((part) =>
        PROVED.has(part.kind) ? { ...part, origins: merged(part.origins, effects(keyOf(part))) } : part,
      ),
    };
  });
}

/** Entries of filters carry the names of their objects. */
const PROVED = new Set(["virtual host", "route", "filter chain", "mutual TLS"]);

function keyOf({ kind, name }: Pick<ExplainedPart, "kind" | "name">): string {
  return `${kind} ${name}`;
}

function lookAt(type: "cds" | "eds" | "lds" | "rds", value: unknown, parts: readonly ExplainedPart[]): Looked {
  const looked = new Map<string, string>();
  if (value === undefined) return looked;
  looked.set(WHOLE, textOf(value));
  if (type === "rds") lookAtRoutes(value as RouteConfiguration, looked);
  for (const part of type === "lds" ? parts : []) {
    const chains = chainsOf(value as Listener, part);
    // What no chain is left of is the same as without the listener.
    if (chains.length > 0) looked.set(keyOf(part), textOf(chains));
  }
  return looked;
}

function lookAtRoutes({ virtualHosts = [] }: RouteConfiguration, looked: Map<string, string>): void {
  for (const host of virtualHosts) {
    const { name = "", routes = [] } = host;
    looked.set(keyOf({ kind: "virtual host", name }), textOf(host));
    for (const [index, route] of routes.entries()) {
      const title = `${name} ${index}${route.name ? ` (${route.name})` : ""}`;
      looked.set(keyOf({ kind: "route", name: title }), textOf(route));
    }
  }
}

function chainsOf(listener: Listener, { kind, name }: ExplainedPart): readonly Partial<FilterChain>[] {
  const { filterChains = [], defaultFilterChain, trafficDirection } = listener;
  const chains = [...filterChains, ...(defaultFilterChain === undefined ? [] : [defaultFilterChain])];
  const own = chains.filter((chain) =>
    trafficDirection === "INBOUND"
      ? portTitle(chain) === name
      : JSON.stringify(chain).includes(JSON.stringify(name.replace(/^to (routes )?/, ""))),
  );
  return kind === "mutual TLS" ? own.map(tlsOf) : own;
}

function tlsOf({ filterChainMatch, transportSocket }: FilterChain): Partial<FilterChain> {
  return { filterChainMatch, transportSocket };
}

/** Members in one order: patched resources have them in another. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => compareText(a, b)))
      : member,
  );
}

/** Services are those that were asked for. So are rules of kinds that could not be tried out; all others have to have an effect. */
function merged(asked: readonly Origin[], { kinds, shapes, agree, overruled }: Effect): readonly Origin[] {
  const same = (a: Origin) => (b: Origin) => a.kind === b.kind && a.namespace === b.namespace && a.name === b.name;
  const proved = [...shapes, ...agree, ...overruled.map(({ object }) => object)];
  const origins = asked
    .filter((origin) => !kinds.has(origin.kind) || proved.some(same(origin)))
    .map((origin): Origin => {
      if (!shapes.some(same(origin))) return origin;
      const { overruledBy: _, ...counts } = origin;
      return counts;
    });
  const winnerOf = (kind: string) => origins.find((one) => one.kind === kind && one.overruledBy === undefined);
  const add = (origin: Origin) => {
    const at = origins.findIndex(same(origin));
    if (at === -1) origins.push(origin);
    else if (origin.overruledBy !== undefined) origins[at] = origin;
  };
  for (const { kind, namespace, name } of shapes) add({ kind, namespace, name });
  for (const { kind, namespace, name } of agree) {
    const winner = winnerOf(kind);
    const isSaid = winner === undefined || same(winner)({ kind, namespace, name });
    add({ kind, namespace, name, ...(!isSaid && { overruledBy: titleOf(winner) }) });
  }
  for (const { object, by } of overruled) {
    const { kind, namespace, name } = object;
    add({ kind, namespace, name, overruledBy: titleOf(by) });
  }
  return [
    ...origins.filter(({ overruledBy }) => overruledBy === undefined),
    ...origins.filter(({ overruledBy }) => overruledBy !== undefined),
  ];
}

function titleOf({ kind, namespace, name }: Origin): string {
  return `${kind} ${namespace}/${name}`;
}
