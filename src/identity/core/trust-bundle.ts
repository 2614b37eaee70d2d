import { parseTrustBundle } from "../../protocol/x509/trust-bundle.ts";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * One bundle from several sources: every certificate once, sorted by its text, joined by newlines without one at the end. Sorting makes
 * the result independent of the order in which the sources arrived, so that an unchanged trust is an unchanged secret.
 */
export function mergeRoots(...bundles: readonly string[]): string {
  return [...new Set(bundles.flatMap(splitBundle))].sort().join("\n");
}

/** The PEM certificates of a bundle; prose around them and other blocks are left out. */
export function splitBundle(bundle: string): string[] {
  return bundle.match(CERTIFICATE) ?? [];
}

/** The certificates that can be used, their text unchanged: Envoy refuses a whole bundle for one that cannot. */
export function usableRoots(bundle: string): { readonly pem: string; readonly dropped: number } {
  const all = splitBundle(bundle);
  const usable = all.filter((certificate) => parseTrustBundle(certificate).count === 1);
  return { pem: usable.join("\n"), dropped: all.length - usable.length };
}

/** The elements a CA answered with as one chain; a newline is added only where an element lacks its own. */
export function joinChain(elements: readonly string[]): string {
  return elements.reduce((chain, element) => {
    const separator = chain === "" || chain.endsWith("\n") ? "" : "\n";
    return `${chain}${separator}${element}`;
  }, "");
}
