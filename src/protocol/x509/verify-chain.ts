import { type Certificate, isIssuedBy } from "./certificate.ts";

export type ChainResult =
  | { readonly ok: true; readonly path: readonly Certificate[] }
  | { readonly ok: false; readonly reason: string };

const MAX_DEPTH = 8;

/** Looks for a path of valid certificates from the leaf over any of the intermediates to any of the roots. */
export function verifyChain(
  leaf: Certificate,
  intermediates: readonly Certificate[],
  roots: readonly Certificate[],
  now: Date,
): ChainResult {
  const expired = validityProblem(leaf, now);
  if (expired !== undefined) return { ok: false, reason: expired };
  const path = findPath([leaf], intermediates, roots, now);
  if (path === undefined) return { ok: false, reason: "certificate signed by unknown authority" };
  return { ok: true, path };
}

function validityProblem(certificate: Certificate, now: Date): string | undefined {
  if (now < certificate.notBefore) return `certificate is not yet valid (from ${certificate.notBefore.toISOString()})`;
  if (now > certificate.notAfter) return `certificate has expired (at ${certificate.notAfter.toISOString()})`;
  return undefined;
}

function findPath(
  path: readonly Certificate[],
  intermediates: readonly Certificate[],
  roots: readonly Certificate[],
  now: Date,
): readonly Certificate[] | undefined {
  const last = path[path.length - 1];
  if (last === undefined || path.length > MAX_DEPTH) return undefined;
  // A leaf that is itself a trusted root ends its own path, as with a one-level CA.
  if (roots.some((root) => root.der.equals(last.der))) return path;
  const usable = (issuer: Certificate) =>
    issuer.isCa && validityProblem(issuer, now) === undefined && isIssuedBy(last, issuer);
  const root = roots.find(usable);
  if (root !== undefined) return [...path, root];
  for (const issuer of intermediates) {
    if (path.includes(issuer) || !usable(issuer)) continue;
    const found = findPath([...path, issuer], intermediates, roots, now);
    if (found !== undefined) return found;
  }
  return undefined;
}
