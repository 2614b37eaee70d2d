import type { Endpoint, NetworkPlan } from "./mesh-plan.ts";

/** Numbers of a /24 behind the hub and the machine. */
export const MAX_WORKLOADS = 200;
/** How many meshes one machine can hold. */
export const SLOTS = 60;

const FIRST_WORKLOAD = 10;
const HUB = 1;
const MACHINE = 2;
/** Has no listener: what is asked there is captured. */
const APP_RESOLVER = 3;
const FIRST_RELAY_PORT = 15_100;
/** Of the further addresses of a service; how many it may have. */
const FIRST_FURTHER_RELAY_PORT = 16_000;
export const MAX_RELAYS = 64;

/**
 * 127.S.C.N: without namespaces. C is 0 for the sidecars' own addresses and, for calls, the caller's number. The first 64 second bytes
 * are left to others, such as resolvers on 127.0.0.53.
 */
export function loopbackAddress(slot: number, caller: number, index: number): string {
  return `127.${64 + slot}.${caller}.${index + 1}`;
}

/** 198.18.0.0/15 is for tests of network devices and so never routed: one /24 for workloads, one for virtual addresses. */
export function virtualAddress(slot: number, index: number): string {
  return `198.19.${slot}.${FIRST_WORKLOAD + index}`;
}

/** Where `mesh up` passes calls on to a service that is not in the mesh. */
export function relayEndpoint(slot: number, service: number, index = 0): Endpoint {
  const port = index === 0 ? FIRST_RELAY_PORT + service : FIRST_FURTHER_RELAY_PORT + service * MAX_RELAYS + index;
  return { host: `198.18.${slot}.${MACHINE}`, port };
}

export interface NamespaceNetwork {
  readonly plan: NetworkPlan;
  workloadAddress(index: number): string;
  namespaceName(index: number): string;
}

/**
 * Names say the slot: what exists already belongs to another mesh, and creating it again fails. Without root they exist inside the user
 * namespace alone, and are others than root's: what is called so on the machine is not this mesh's.
 */
export function namespaceNetwork(slot: number, rootlessFolder?: string): NamespaceNetwork {
  const isRootless = rootlessFolder !== undefined;
  const prefix = `${isRootless ? "pauser" : "pamesh"}${slot}`;
  const address = (last: number) => `198.18.${slot}.${last}`;
  return {
    plan: {
      hub: `${prefix}-hub`,
      hostInterface: prefix,
      hubAddress: address(HUB),
      hostAddress: address(MACHINE),
      prefixLength: 24,
      resolvers: rootlessFolder ?? "/etc/netns",
      rootless: isRootless,
      appResolver: address(isRootless ? APP_RESOLVER : MACHINE),
    },
    workloadAddress: (index) => address(FIRST_WORKLOAD + index),
    namespaceName: (index) => `${prefix}-${index}`,
  };
}
