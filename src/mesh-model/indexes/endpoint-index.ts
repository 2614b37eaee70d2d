import type { Endpoint } from "../endpoint.ts";
import { sameElements } from "../lists.ts";
import type { EndpointShape } from "../push-snapshot.ts";
import { endpointsKey, type Service } from "../service.ts";

export interface EndpointIndex {
  endpoints(serviceKey: string): readonly Endpoint[];
  shape(serviceKey: string): EndpointShape;
  readonly entries: ReadonlyMap<string, Entry>;
  /** The same value while no shape differs. */
  readonly shapes: ReadonlyMap<string, EndpointShape>;
  readonly given: readonly Service[];
  /** Keys of all services with the same host in the same namespace, for those that are not alone. */
  readonly twins: ReadonlyMap<string, readonly string[]>;
}

interface Entry {
  readonly endpoints: readonly Endpoint[];
  readonly inlines: boolean;
  readonly shape: EndpointShape;
}

const NO_ENDPOINTS: readonly Endpoint[] = [];
const NO_SHAPE: EndpointShape = { accounts: [], allMtls: false, inlined: [] };

/** Takes down the endpoints of this moment: registries go on changing. Objects that describe one host share their endpoints. */
export function buildEndpointIndex(
  services: readonly Service[],
  endpointsOf: (serviceKey: string) => readonly Endpoint[],
  previous?: EndpointIndex,
): EndpointIndex {
  const entries = new Map<string, Entry>();
  const twins = previous?.given === services ? previous.twins : findTwins(services);
  let isSame = previous !== undefined;
  for (const service of services) {
    const known = previous?.entries.get(service.key);
    const keys = twins.get(service.key);
    const endpoints = keys === undefined ? endpointsOf(service.key) : combined(keys, endpointsOf, known?.endpoints);
    const inlines = service.resolution !== "ClientSideLB";
    const isKnown = known?.endpoints === endpoints && known.inlines === inlines;
    isSame &&= isKnown;
    entries.set(
      service.key,
      isKnown ? known : { endpoints, inlines, shape: shapeOf(endpoints, inlines, known?.shape) },
    );
  }
  if (previous !== undefined && isSame && previous.entries.size === entries.size) return previous;
  return {
    entries,
    shapes: shapesOf(entries, previous?.shapes),
    given: services,
    twins,
    endpoints: (key) => entries.get(key)?.endpoints ?? NO_ENDPOINTS,
    shape: (key) => entries.get(key)?.shape ?? NO_SHAPE,
  };
}

function shapesOf(
  entries: ReadonlyMap<string, Entry>,
  previous: EndpointIndex["shapes"] | undefined,
): EndpointIndex["shapes"] {
  let isSame = previous?.size === entries.size;
  for (const [key, { shape }] of entries) isSame &&= previous?.get(key) === shape;
  if (isSame && previous !== undefined) return previous;
  return new Map([...entries].map(([key, { shape }]) => [key, shape]));
}

function findTwins(services: readonly Service[]): ReadonlyMap<string, readonly string[]> {
  const byKey = new Map<string, string[]>();
  for (const service of services) {
    const { key } = service;
    const group = endpointsKey(service);
    const keys = byKey.get(group);
    if (keys === undefined) byKey.set(group, [key]);
    else keys.push(key);
  }
  const shared = [...byKey.values()].filter((keys) => keys.length > 1);
  return new Map(shared.flatMap((keys) => keys.map((key) => [key, keys] as const)));
}

function combined(
  keys: readonly string[],
  endpointsOf: (serviceKey: string) => readonly Endpoint[],
  known: readonly Endpoint[] = NO_ENDPOINTS,
): readonly Endpoint[] {
  const endpoints = keys.flatMap((key) => [...endpointsOf(key)]);
  return sameElements(known, endpoints) ? known : endpoints;
}

function shapeOf(endpoints: readonly Endpoint[], inlines: boolean, known: EndpointShape = NO_SHAPE): EndpointShape {
  const accounts = [...new Set(endpoints.map(({ serviceAccount }) => serviceAccount))].filter(Boolean).sort();
  const allMtls = endpoints.length > 0 && endpoints.every(({ tlsMode }) => tlsMode === "istio");
  const inlined = inlines ? endpoints : NO_ENDPOINTS;
  const isSame =
    known.allMtls === allMtls && sameElements(known.inlined, inlined) && sameElements(known.accounts, accounts);
  return isSame ? known : { accounts, allMtls, inlined };
}
