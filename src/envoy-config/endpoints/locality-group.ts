import { compareText } from "../../istio-api/config-object.ts";
import type { Endpoint } from "../../mesh-model/endpoint.ts";
import { formatLocality, type Locality } from "../../mesh-model/locality.ts";

/** Endpoints of one place that are equally preferred. */
export interface LocalityGroup {
  readonly locality: Locality;
  readonly endpoints: readonly Endpoint[];
  readonly weight: number;
  readonly priority: number;
}

/** By place, sorted, all equally preferred; each place weighs as much as its endpoints together. */
export function groupByLocality(endpoints: readonly Endpoint[]): readonly LocalityGroup[] {
  const places = new Map<string, Endpoint[]>();
  for (const endpoint of endpoints) {
    const place = formatLocality(endpoint.locality);
    const there = places.get(place);
    if (there === undefined) places.set(place, [endpoint]);
    else there.push(endpoint);
  }
  return [...places]
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([, there]) => (there[0] === undefined ? [] : [group(there[0].locality, there)]));
}

export function group(locality: Locality, endpoints: readonly Endpoint[], priority = 0): LocalityGroup {
  return { locality, endpoints, weight: endpoints.reduce((sum, each) => sum + endpointWeight(each), 0), priority };
}

export function endpointWeight({ weight }: Endpoint): number {
  return weight === 0 ? 1 : weight;
}
