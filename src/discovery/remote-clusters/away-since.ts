import type { KindFreshness } from "../kubernetes-source.ts";

/**
 * Since when nothing has been known of a cluster: the last proof of any of its kinds. Undefined while some kind is followed: an API server
 * that refuses one kind is not away.
 */
export function awaySince(kinds: readonly KindFreshness[]): number | undefined {
  const isLost = ({ problem, state }: KindFreshness) => problem !== undefined && state !== "watching";
  if (kinds.length === 0 || !kinds.every(isLost)) return undefined;
  const proofs = kinds.flatMap(({ provedAt }) => provedAt ?? []);
  return proofs.length === 0 ? undefined : Math.max(...proofs);
}
