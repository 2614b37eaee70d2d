import type { Certificate } from "../../protocol/x509/certificate.ts";

/**
 * Whether a reload may replace the roots. A sudden new root would cut every workload off that still trusts the old one, so only a mesh
 * that distributes several roots may change them, and only by adding to or taking from the bundle.
 */
export function mayReplaceRoots(
  before: readonly Certificate[],
  after: readonly Certificate[],
  allowsSeveralRoots: boolean,
): boolean {
  const grows = isSubset(before, after);
  const shrinks = isSubset(after, before);
  if (grows && shrinks) return true;
  return allowsSeveralRoots && (grows || shrinks);
}

function isSubset(part: readonly Certificate[], whole: readonly Certificate[]): boolean {
  return part.every((one) => whole.some((other) => other.der.equals(one.der)));
}
