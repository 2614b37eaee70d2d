import type { Endpoint } from "../../model/endpoint.ts";

/** What clusters want to know of the endpoints of a service. */
export interface EndpointIdentities {
  /** SPIFFE names, sorted, each once. */
  readonly accounts: readonly string[];
  /** The same as one text, so that sets are compared by ===. */
  readonly key: string;
}

/** Found once per list of endpoints: every scope asks for it at every push, and lists stay the same values while nothing changes. */
export function endpointIdentities(endpoints: readonly Endpoint[]): EndpointIdentities {
  let found = known.get(endpoints);
  if (found === undefined) {
    const accounts = [...new Set(endpoints.map(({ serviceAccount }) => serviceAccount))].filter(Boolean).toSorted();
    found = Object.freeze({ accounts, key: accounts.join() });
    known.set(endpoints, found);
  }
  return found;
}

const known = new WeakMap<readonly Endpoint[], EndpointIdentities>();
