import { kubeSlice } from "../discovery/kubernetes-objects.ts";
import type { Manifest } from "./apply-objects.ts";

/** As many as an API server takes in one slice. */
const PER_SLICE = 1000;

/** Addresses of a round, different from those of every other one. */
export function blockAddresses(count: number, round: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `10.${100 + round}.${at >> 8}.${at & 255}`);
}

/** Slices of a service in namespace prod with the addresses of a round. */
export function blockSlices(service: string, count: number, round: number): readonly Manifest[] {
  const addresses = blockAddresses(count, round);
  return Array.from({ length: Math.ceil(count / PER_SLICE) }, (_, at) => {
    const own = addresses.slice(at * PER_SLICE, (at + 1) * PER_SLICE).map((address) => ({ address }));
    return kubeSlice(service, own, `${service}-${at}`) as unknown as Manifest;
  });
}
