import { isWildcard } from "../../istio-api/values/hostname.ts";
import type { AutoAllocated, Service } from "../../mesh-model/service.ts";

const SLOTS = 256 * 254;
const PRIME = 65011;

type Addressless = Pick<Service, "hostname" | "namespace" | "addresses" | "resolution">;

/**
 * Addresses of 240.240.0.0/16 for services that have none, by `namespace/hostname`. An agent answers DNS with them, so that proxies can
 * distinguish TCP services of one port. The slot of a service follows from its name alone unless two names meet in one slot; then the
 * earlier in the list has it.
 */
export function autoAllocate(services: Iterable<Addressless>): ReadonlyMap<string, AutoAllocated> {
  const slots = new Map<number, string>();
  const placed = new Set<string>();
  for (const service of services) {
    const key = `${service.namespace}/${service.hostname}`;
    if (!isAllocatable(service) || placed.has(key)) continue;
    if (placed.size >= SLOTS - 1) break;
    slots.set(freeSlot(fnv1a(key), slots), key);
    placed.add(key);
  }
  const result = new Map<string, AutoAllocated>();
  // Last octets of 0 are passed over; each time all later slots move by one. The last possible address is 240.240.255.254.
  let moved = 0;
  for (const [slot, key] of [...slots].sort(([a], [b]) => a - b)) {
    if ((slot + 1 + moved) % 255 === 0) moved += 1;
    const slotNumber = slot + 1 + moved;
    result.set(key, addressesOf(Math.floor(slotNumber / 255), slotNumber % 255));
  }
  return result;
}

/** Without resolution the proxy must see the address the client meant; a wildcard is many names. */
function isAllocatable({ hostname, addresses, resolution }: Addressless): boolean {
  return addresses.length === 0 && resolution !== "Passthrough" && !isWildcard(hostname);
}

function freeSlot(hash: number, slots: ReadonlyMap<number, string>): number {
  const first = hash % SLOTS;
  if (!slots.has(first)) return first;
  const step = PRIME - (hash % PRIME);
  for (let attempt = 1; attempt < SLOTS; attempt += 1) {
    // Products and sums wrap at 32 bits, as in the reference.
    const slot = ((hash + Math.imul(attempt, step)) >>> 0) % (SLOTS - 1);
    if (!slots.has(slot)) return slot;
  }
  let slot = 0;
  while (slots.has(slot)) slot += 1;
  return slot;
}

/** The last two hex digits are the last octet, so that no two slots share an address. */
function addressesOf(third: number, fourth: number): AutoAllocated {
  const low = ((third << 8) | fourth).toString(16);
  return { ipv4: `240.240.${third}.${fourth}`, ipv6: `2001:2::f0f0:${low}` };
}

/** FNV-1a with 32 bits over the text's bytes. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}
