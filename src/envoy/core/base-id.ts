/** Envoy multiplies the id by ten and adds the epoch's remainder; the result has to fit 32 bits. */
const MAX_BASE_ID = 0xffff_ffff / 10 - 1;

/**
 * Picks the first free id of a row that starts at the agent's own place. The place follows from what tells agents apart (network
 * namespace, admin address, configuration path), so that a restarted agent comes back to the id whose stale shared memory Envoy
 * replaces, and two agents of a machine start at different places.
 */
export function pickBaseId(identityHash: number, isTaken: (baseId: number) => boolean): number {
  const first = 1 + (identityHash % Math.floor(MAX_BASE_ID / 2));
  for (let baseId = first; baseId < first + 1000; baseId++) {
    if (!isTaken(baseId)) return baseId;
  }
  return first;
}

/** Base ids (times ten, plus epoch remainder) whose sockets are open, from the text of /proc/net/unix. */
export function parseHotRestartSockets(procNetUnix: string): ReadonlySet<number> {
  const ids = new Set<number>();
  for (const [, id] of procNetUnix.matchAll(/@envoy_domain_socket_(?:udp_)?(?:parent|child)_(\d+)/g))
    ids.add(Number(id));
  return ids;
}
