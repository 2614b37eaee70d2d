import { createResourceSource, parseClusterName } from "../envoy-config/index.ts";
import { compareText } from "../istio-api/config-object.ts";
import { snapshotWithOnly } from "../mesh-model/create-push-snapshot.ts";
import { groupBy } from "../mesh-model/lists.ts";
import type { ProxyView } from "../mesh-model/push-snapshot.ts";
import { objectOf } from "../mesh-model/service.ts";
import type { FilterChain, Listener } from "../protobuf/gen/envoy/config/listener/v3.ts";
import type { RouteConfiguration } from "../protobuf/gen/envoy/config/route/v3.ts";
import type { Origin } from "../simulate/index.ts";
import { type Effect, effectsOn, type Looked, RULES, type RuleKind } from "./effects-on.ts";
import { createRelatedObjects } from "./related-objects.ts";
import { type ExplainedResource, resourceNamed } from "./resources-of.ts";
import { type ExplainedPart, type Explanation, portTitle } from "./why.ts";

const WHOLE = "";

export interface RefineOptions {
  /** What is explained, as the proxy is sent it. */
  readonly resources: readonly ExplainedResource[];
  /** Once it is late, the rest has the origins that the indexes know. */
  readonly isLate?: () => boolean;
  /** Meshes of more services and rules are not made, where proxies wait meanwhile. */
  readonly maxObjects?: number;
}

/**
 * The same with origins proved by trying: an object that shapes a resource or a part of it is among its origins, and one that would, if
 * another did not come before it, names that one. It takes resources of its own: those that are served are not touched. What is not tried out
 * to the end says of which kinds.
 */
export function refineOrigins(
  view: ProxyView,
  explanations: readonly Explanation[],
  { resources, isLate = () => false, maxObjects = Number.POSITIVE_INFINITY }: RefineOptions,
): readonly Explanation[] {
  const limits = { isLate, maxObjects };
  const worlds = createWorlds(view, limits);
  return explanations.map((explanation) => {
    const { type, name, parts } = explanation;
    if (type === "nds" || type === "ecds") return explanation;
    const subjectOf = subjectsOf(explanation, resources.find((one) => one.type === type && one.name === name)?.value);
    const notTried = new Set<RuleKind>();
    const prove = (key: string, asked: readonly Origin[]) => {
      const effect = limits.isLate()
        ? undefined
        : worlds.effectOn({ type, name, key, ...subjectOf(key), hosts: hostsOf(view, explanation, key, asked) });
      for (const kind of effect?.notTried ?? worlds.kinds) notTried.add(kind);
      return effect === undefined ? asked : merged(asked, effect);
    };
    const refined = {
      ...explanation,
      // Routes have the origins of their virtual hosts.
      origins: type === "rds" ? explanation.origins : prove(WHOLE, explanation.origins),
      parts: parts.map((part) =>
        PROVED.has(part.kind) ? { ...part, origins: prove(keyOf(part), part.origins) } : part,
      ),
    };
    return notTried.size === 0 ? refined : { ...refined, notTried: [...notTried] };
  });
}

/** What is looked at together. A virtual host with its routes is by itself: a configuration may have thousands. */
function subjectsOf({ type, parts }: Explanation, value: unknown): (key: string) => Pick<Asked, "parts" | "value"> {
  if (type !== "rds") return () => ({ parts, value });
  const { virtualHosts = [] } = (value ?? {}) as RouteConfiguration;
  const hosts = new Map(virtualHosts.map((host) => [host.name, host]));
  const byHost = groupBy(parts, (part) => virtualHostOf(keyOf(part)));
  return (key) => {
    const name = virtualHostOf(key);
    const host = hosts.get(name);
    return { parts: byHost.get(name) ?? [], value: { virtualHosts: host === undefined ? [] : [host] } };
  };
}

/** `web.prod:80` of `virtual host web.prod:80` and of `route web.prod:80 3 (canary)`. */
function virtualHostOf(key: string): string {
  return key.replace(/^(virtual host|route) /, "").split(" ", 1)[0] ?? "";
}

/** Whom the resource or its part is about. */
function hostsOf(
  { snapshot }: ProxyView,
  { type, name }: Explanation,
  key: string,
  asked: readonly Origin[],
): readonly string[] {
  if (type === "rds") return [virtualHostOf(key).replace(/:\d+$/, "")];
  if (type !== "lds") return [parseClusterName(name)?.host ?? name];
  const named = new Set(
    asked.slice(0, MAX_SERVICES).map(({ kind, namespace, name: of }) => `${kind}/${namespace}/${of}`),
  );
  const cluster = parseClusterName(key.replace(/^filter chain to /, ""));
  const services = snapshot.services.filter((service) => {
    const { kind, namespace, name: of } = objectOf(service);
    return named.has(`${kind}/${namespace}/${of}`);
  });
  return [...services.map(({ hostname }) => hostname), ...(cluster === undefined ? [] : [cluster.host])];
}

/** A listener of a port is the same for any number of services. */
const MAX_SERVICES = 50;

interface Asked {
  readonly type: "cds" | "eds" | "lds" | "rds";
  readonly name: string;
  readonly parts: readonly ExplainedPart[];
  readonly key: string;
  /** As it is sent. */
  readonly value: unknown;
  readonly hosts: readonly string[];
}

interface Limits {
  readonly isLate: () => boolean;
  readonly maxObjects: number;
}

/** A mesh in which objects are tried out. */
interface World {
  /** Undefined where the resource or part is another than it is for the proxy: something is missing that shapes it. */
  effectOn(asked: Asked): Effect | undefined;
}

/**
 * From the smallest mesh in which a part is what the proxy is sent: there the rest has no effect on it, and every trial is cheap. First that of
 * the objects that are about its hosts, then the same with all services, at last the whole mesh.
 */
function createWorlds(view: ProxyView, limits: Limits) {
  const { snapshot, node } = view;
  const related = createRelatedObjects(view);
  const counts = new Map(RULES.map((kind) => [kind, snapshot.configs.list(kind).length]));
  const known = new Map<string, World | undefined>();
  const worldOf = (key: string, size: number, make: () => ProxyView) => {
    if (known.has(key)) return known.get(key);
    const world = size > limits.maxObjects || limits.isLate() ? undefined : createWorld(make(), limits);
    known.set(key, world);
    return world;
  };
  function* worldsFor(hosts: readonly string[]): Generator<World | undefined> {
    const key = hosts.join(" ");
    const near = related(hosts);
    const objects = [...near.objects.values()].flat().length;
    const services = snapshot.services.length;
    yield worldOf(`near ${key}`, objects + near.hosts.size, () => snapshotWithOnly(snapshot, near).view(node));
    yield worldOf(`rules ${key}`, objects + services, () =>
      snapshotWithOnly(snapshot, { objects: near.objects }).view(node),
    );
    const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
    yield worldOf("all", all + services, () => view);
  }
  return {
    /** Kinds of which there are objects. */
    kinds: RULES.filter((kind) => counts.get(kind) !== 0),
    effectOn(asked: Asked): Effect | undefined {
      for (const world of worldsFor(asked.hosts)) {
        const effect = world?.effectOn(asked);
        if (effect !== undefined) return effect;
      }
      return undefined;
    },
  };
}

function createWorld(view: ProxyView, { isLate }: Limits): World {
  const source = createResourceSource({ onProblem: () => undefined });
  const known = new Map<string, ReturnType<typeof effectsOn>>();
  return {
    effectOn(asked) {
      const { type, name, parts, key, value } = asked;
      const title = `${type} ${name} ${parts.map(keyOf).join(" ")}`;
      let effects = known.get(title);
      if (effects === undefined) {
        effects = effectsOn(view, (one) => lookAt(asked, resourceNamed(one, type, name, source)), isLate);
        known.set(title, effects);
      }
      if (effects.now(key) !== lookAt(asked, value).get(key)) return undefined;
      return effects.of(key);
    },
  };
}

/** Entries of filters carry the names of their objects. */
const PROVED = new Set(["virtual host", "route", "filter chain", "mutual TLS"]);

function keyOf({ kind, name }: Pick<ExplainedPart, "kind" | "name">): string {
  return `${kind} ${name}`;
}

function lookAt({ type, parts }: Pick<Asked, "type" | "parts">, value: unknown): Looked {
  const looked = new Map<string, string>();
  if (value === undefined) return looked;
  if (type === "rds") return lookAtRoutes(value as RouteConfiguration, parts);
  looked.set(WHOLE, textOf(value));
  for (const part of type === "lds" ? parts : []) {
    const chains = chainsOf(value as Listener, part);
    // What no chain is left of is the same as without the listener.
    if (chains.length > 0) looked.set(keyOf(part), textOf(chains));
  }
  return looked;
}

function lookAtRoutes({ virtualHosts = [] }: RouteConfiguration, parts: readonly ExplainedPart[]): Looked {
  const looked = new Map<string, string>();
  const wanted = new Set(parts.map((part) => virtualHostOf(keyOf(part))));
  for (const host of virtualHosts) {
    const { name = "", routes = [] } = host;
    if (!wanted.has(name)) continue;
    looked.set(keyOf({ kind: "virtual host", name }), textOf(host));
    for (const [index, route] of routes.entries()) {
      const title = `${name} ${index}${route.name ? ` (${route.name})` : ""}`;
      looked.set(keyOf({ kind: "route", name: title }), textOf(route));
    }
  }
  return looked;
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
