import type { Destination } from "../../istio-api/specs/common.ts";
import type { ServiceIndex } from "../indexes/service-index.ts";
import type { EgressListener, VirtualServiceRule } from "../push-snapshot.ts";
import type { Service } from "../service.ts";

/** All services that the listeners show, with the ports they show, and those that their rules send requests to. */
export function buildScopeServices(
  listeners: readonly EgressListener[],
  namespace: string,
  index: ServiceIndex,
): readonly Service[] {
  const { all, byHost } = index.visibleTo(namespace);
  /** A host belongs to the namespace that shows it first. */
  const owners = new Map<string, string>();
  const ports = new Map<string, Set<number>>();
  const add = ({ key, hostname, namespace: owner }: Service, numbers: readonly number[]) => {
    if ((owners.get(hostname) ?? owner) !== owner) return;
    owners.set(hostname, owner);
    const known = ports.get(key);
    if (known === undefined) ports.set(key, new Set(numbers));
    else for (const number of numbers) known.add(number);
  };
  for (const { services } of listeners) for (const service of services) add(service, portNumbers(service));
  for (const { host, port } of listeners.flatMap(({ virtualServices }) => virtualServices.flatMap(destinationsOf))) {
    for (const service of byHost.get(host) ?? []) {
      const numbers = portNumbers(service).filter((number) => port === undefined || number === port.number);
      if (numbers.length > 0) add(service, numbers);
    }
  }
  return Object.freeze(
    all.flatMap((service) => {
      const shown = ports.get(service.key);
      return shown === undefined ? [] : (index.withPorts(service, [...shown]) ?? []);
    }),
  );
}

function portNumbers({ ports }: Service): readonly number[] {
  return ports.map(({ port }) => port);
}

function destinationsOf({ spec }: VirtualServiceRule): readonly Destination[] {
  const weighted = [...spec.http, ...spec.tls, ...spec.tcp].flatMap(({ route }) => [...route]);
  const mirrored = spec.http.flatMap(({ mirror, mirrors }) => [
    ...(mirror === undefined ? [] : [mirror]),
    ...mirrors.flatMap(({ destination }) => destination ?? []),
  ]);
  return [...weighted.flatMap(({ destination }) => destination ?? []), ...mirrored];
}
