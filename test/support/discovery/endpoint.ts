import { TOPOLOGY } from "../../../src/istio-api/values/topology-labels.ts";
import type { Endpoint } from "../../../src/mesh-model/endpoint.ts";
import { type Locality, parseLocality } from "../../../src/mesh-model/locality.ts";

/** An endpoint of port `http` with what the test is about, its place among its labels; everything else is empty. */
export function endpointOf(address: string, more: Partial<Endpoint> & { readonly place?: string } = {}): Endpoint {
  const { place = "", labels = {}, ...given } = more;
  const locality = parseLocality(place);
  return {
    addresses: [address],
    servicePortName: "http",
    port: 80,
    labels: { ...labels, ...topology(locality) },
    serviceAccount: "",
    network: "",
    locality,
    clusterId: "Kubernetes",
    weight: 0,
    tlsMode: "disabled",
    namespace: "default",
    workloadName: address,
    health: "Unknown",
    ...given,
  };
}

/** As registries add it. */
function topology({ region, zone, subzone }: Locality): Record<string, string> {
  const all = { [TOPOLOGY.region]: region, [TOPOLOGY.zone]: zone, [TOPOLOGY.subzone]: subzone };
  const given = Object.entries(all).filter(([, value]) => value !== "");
  return { ...Object.fromEntries(given), [TOPOLOGY.cluster]: "Kubernetes" };
}
