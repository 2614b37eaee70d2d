import type { ConfigObject, ObjectRef } from "../istio-api/config-object.ts";
import { selectorOf } from "./indexes/destination-rule-index.ts";
import { mergeDelegate } from "./indexes/merge-delegate.ts";
import { MESH_GATEWAY } from "./indexes/virtual-service-index.ts";
import { groupBy } from "./lists.ts";
import type { AppliedDestinationRule, RuleProblem, VirtualServiceRule } from "./push-snapshot.ts";
import type { Service } from "./service.ts";
import type { SnapshotParts } from "./snapshot-parts.ts";
import { exportToKey, isVisibleTo } from "./visibility.ts";

/** Looks at everything; for those who ask, not for every push. */
export function findRuleProblems(parts: SnapshotParts): readonly RuleProblem[] {
  return [...repeatedServices(parts), ...delegations(parts), ...repeatedHosts(parts), ...repeatedSubsets(parts)];
}

function* repeatedServices({ services: { given, services } }: SnapshotParts): Generator<RuleProblem> {
  const winners = new Map(services.map((service) => [service.key, service]));
  const byHost = groupBy(services, hostKey);
  for (const service of given) {
    if (service.source === undefined) continue;
    const left = winners.get(service.key)?.ports ?? [];
    for (const { port } of service.ports.filter((one) => !left.includes(one))) {
      const winner = byHost.get(hostKey(service))?.find(({ ports }) => ports.some((one) => one.port === port));
      if (winner === undefined) continue;
      const message = `port ${port} of ${service.hostname} is taken by ${named(winner)}, which comes first`;
      yield { object: service.source, message };
    }
  }
}

function hostKey({ namespace, hostname }: Service): string {
  return `${namespace}/${hostname}`;
}

function named({ source, provider, namespace, name }: Service): string {
  return `${source?.kind ?? `the ${provider} service`} ${namespace}/${name}`;
}

function* delegations({ virtualServices, mesh }: SnapshotParts): Generator<RuleProblem> {
  const all = new Map(virtualServices.given.map((object) => [`${object.namespace}/${object.name}`, object]));
  for (const root of virtualServices.given) {
    for (const [at, route] of root.spec.http.entries()) {
      if (route.delegate === undefined) continue;
      const fullName = `${route.delegate.namespace || root.namespace}/${route.delegate.name}`;
      const delegate = all.get(fullName);
      const where = `spec.http[${at}]: delegate ${fullName}`;
      if (delegate === undefined) yield problem(root, `${where} does not exist`);
      else if (delegate.spec.hosts.length > 0) yield problem(root, `${where} has hosts of its own`);
      else if (!isShown(delegate, root.namespace, mesh.defaultVirtualServiceExportTo))
        yield problem(root, `${where} is not exported to namespace ${root.namespace}`);
      else {
        for (const [index, inner] of delegate.spec.http.entries()) {
          if (mergeDelegate(route, [inner]).length > 0) continue;
          yield problem(
            delegate,
            `spec.http[${index}] contradicts spec.http[${at}] of ${ref(root)} and is not used there`,
          );
        }
      }
    }
  }
}

function isShown({ spec, namespace }: ConfigObject<"VirtualService">, to: string, meshDefault: readonly string[]) {
  return isVisibleTo(spec.exportTo, namespace, to, meshDefault);
}

function problem({ kind, namespace, name }: ObjectRef, message: string): RuleProblem {
  return { object: { kind, namespace, name }, message };
}

function ref({ kind, namespace, name }: ObjectRef): string {
  return `${kind} ${namespace}/${name}`;
}

/** Sidecars take one rule for a host; the oldest of those they see. */
function* repeatedHosts({ virtualServices, mesh }: SnapshotParts): Generator<RuleProblem> {
  const visibility = ({ object }: VirtualServiceRule) =>
    exportToKey(object.spec.exportTo, object.namespace, mesh.defaultVirtualServiceExportTo);
  const first = new Map<string, VirtualServiceRule>();
  for (const rule of virtualServices.rules.filter(({ spec }) => spec.gateways.includes(MESH_GATEWAY))) {
    for (const host of rule.hosts) {
      const key = `${host} ${visibility(rule)}`;
      const older = first.get(`${host} *`) ?? first.get(key);
      if (older === undefined) first.set(key, rule);
      else if (older !== rule) {
        const message = `host ${host} is ruled by ${ref(older.object)}, which comes first`;
        yield { ...problem(rule.object, message), repeatedHost: host };
      }
    }
  }
}

function* repeatedSubsets({ destinationRules }: SnapshotParts): Generator<RuleProblem> {
  for (const { byHost } of destinationRules.namespaces.values()) {
    for (const merged of byHost.values()) for (const { rule } of merged) yield* repeatedIn(rule);
  }
}

function* repeatedIn({ objects, object: first }: AppliedDestinationRule): Generator<RuleProblem> {
  const owners = new Map<string, ObjectRef>();
  const hasSelector = selectorOf(first) !== undefined;
  // What a rule with a selector takes over from others, it may well replace.
  for (const object of objects.filter((one) => (selectorOf(one) !== undefined) === hasSelector)) {
    for (const { name } of object.spec.subsets) {
      const owner = owners.get(name);
      if (owner === undefined) owners.set(name, object);
      else if (owner !== object) {
        const message = `subset ${name} is already in ${ref(owner)}, which comes first`;
        yield { ...problem(object, message), repeatedSubset: name };
      }
    }
    const policyOwner = objects.find(({ spec }) => spec.trafficPolicy !== undefined);
    if (object.spec.trafficPolicy !== undefined && policyOwner !== undefined && policyOwner !== object)
      yield problem(object, `trafficPolicy is not used: that of ${ref(policyOwner)} comes first`);
  }
}
