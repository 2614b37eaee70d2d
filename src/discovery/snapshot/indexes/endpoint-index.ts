import type { Endpoint } from "../../model/endpoint.ts";
import { sameElements } from "../../model/same-elements.ts";
import type { Service } from "../../model/service.ts";

/** What of a service's endpoints shows outside of endpoint resources. Equal ones are the same value. */
export interface EndpointShape {
  /** Sorted, each once. */
  readonly accounts: readonly string[];
  /** Every endpoint speaks mutual TLS. */
  readonly allMtls: boolean;
  /** Those that clusters or listeners spell out; empty for services whose endpoints are sent by themselves. */
  readonly inlined: readonly Endpoint[];
}

export interface EndpointIndex {
  endpoints(serviceKey: string): readonly Endpoint[];
  shape(serviceKey: string): EndpointShape;
  readonly entries: ReadonlyMap<string, Entry>;
}

interface Entry {
  readonly endpoints: readonly Endpoint[];
  readonly inlines: boolean;
  readonly shape: EndpointShape;
}

const NO_ENDPOINTS: readonly Endpoint[] = [];
const NO_SHAPE: EndpointShape = { accounts: [], allMtls: false, inlined: [] };

/** Takes down the endpoints of this moment: registries go on changing. */
export function buildEndpointIndex(
  services: readonly Service[],
  endpointsOf: (serviceKey: string) => readonly Endpoint[],
  previous?: EndpointIndex,
): EndpointIndex {
  const entries = new Map<string, Entry>();
  let isSame = previous !== undefined;
  for (const service of services) {
    const known = previous?.entries.get(service.key);
    const endpoints = endpointsOf(service.key);
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
    endpoints: (key) => entries.get(key)?.endpoints ?? NO_ENDPOINTS,
    shape: (key) => entries.get(key)?.shape ?? NO_SHAPE,
  };
}

function shapeOf(endpoints: readonly Endpoint[], inlines: boolean, known: EndpointShape = NO_SHAPE): EndpointShape {
  const accounts = [...new Set(endpoints.map(({ serviceAccount }) => serviceAccount))].filter(Boolean).sort();
  const allMtls = endpoints.length > 0 && endpoints.every(({ tlsMode }) => tlsMode === "istio");
  const inlined = inlines ? endpoints : NO_ENDPOINTS;
  const isSame =
    known.allMtls === allMtls && sameElements(known.inlined, inlined) && sameElements(known.accounts, accounts);
  return isSame ? known : { accounts, allMtls, inlined };
}
