import type { NetworkInterfaceInfo } from "node:os";
import { wait } from "../../base/wait.ts";
import { isUnspecified } from "../../net/ip.ts";
import { isLocalAddress, unmapText } from "../../net/ip-mode.ts";

/** `os.networkInterfaces`: running interfaces by name, in the system's order. */
export type NetworkInterfaces = () => Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export interface DiscoveryRetry {
  readonly everyMs: number;
  readonly limitMs: number;
}

const RETRY: DiscoveryRetry = { everyMs: 100, limitMs: 120_000 };

/**
 * Addresses others can reach this host by. An interface that is still being set up has the unspecified address; then the look is
 * repeated, and in the end the whole result counts as none. No address at all does not wait.
 */
export async function discoverAddresses(
  networkInterfaces: NetworkInterfaces,
  retry: DiscoveryRetry = RETRY,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  for (let waitedMs = 0; waitedMs <= retry.limitMs && !signal?.aborted; waitedMs += retry.everyMs) {
    const addresses = Object.values(networkInterfaces()).flatMap((addressesOf) => externalAddresses(addressesOf ?? []));
    if (!addresses.some(isUnspecified)) return addresses;
    await wait(retry.everyMs, signal);
  }
  return [];
}

/** What an excluded interface takes away. Undefined when there is no such interface. */
export function interfaceAddresses(networkInterfaces: NetworkInterfaces, name: string): readonly string[] | undefined {
  const infos = networkInterfaces()[name];
  return infos
    ?.map(({ address }) => unmapText(address))
    .filter((address) => !isLocalAddress(address) && !isUnspecified(address));
}

function externalAddresses(infos: readonly NetworkInterfaceInfo[]): readonly string[] {
  return infos.flatMap(({ internal, address }) => (internal || isLocalAddress(address) ? [] : [unmapText(address)]));
}
