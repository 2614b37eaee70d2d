import type { Endpoint } from "../../src/discovery/model/endpoint.ts";
import { parseLocality } from "../../src/discovery/model/locality.ts";

/** An endpoint of port `http` with what the test is about; everything else is empty. */
export function endpointOf(address: string, more: Partial<Endpoint> & { readonly place?: string } = {}): Endpoint {
  const { place = "", ...given } = more;
  return {
    addresses: [address],
    servicePortName: "http",
    port: 80,
    labels: {},
    serviceAccount: "",
    network: "",
    locality: parseLocality(place),
    clusterId: "Kubernetes",
    weight: 0,
    tlsMode: "disabled",
    namespace: "default",
    workloadName: address,
    health: "Unknown",
    ...given,
  };
}
