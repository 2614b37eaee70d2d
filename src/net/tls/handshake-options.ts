import { createSecureContext, rootCertificates, type SecureContext, type SecureContextOptions } from "node:tls";
import { publicRoots } from "./public-roots.ts";

/**
 * Options of a handshake as `tls.connect` takes them: it knows no curves, which can only be given with a context, and a context needs its
 * roots by name.
 */
export function handshakeOptions(
  options: SecureContextOptions,
): SecureContextOptions | { secureContext: SecureContext } {
  if (options.ecdhCurve === undefined) return options;
  return { secureContext: createSecureContext({ ...options, ca: options.ca ?? [...rootCertificates] }) };
}

/** What names the roots of a handshake. */
export interface NamedRoots {
  readonly ca?: unknown;
  readonly cert?: unknown;
  readonly key?: unknown;
  readonly secureContext?: SecureContext | undefined;
  readonly rejectUnauthorized?: boolean | undefined;
}

/**
 * What to add to options without roots, so that the public ones are trusted: a shared context where there is no client certificate,
 * because reading the roots takes longer than the handshake.
 */
export function publicRootsFor(options: NamedRoots): { secureContext?: SecureContext; ca?: string[] } {
  const { ca, cert, key, secureContext, rejectUnauthorized } = options;
  if (ca !== undefined || secureContext !== undefined || rejectUnauthorized === false) return {};
  return cert === undefined && key === undefined ? { secureContext: publicRoots() } : { ca: [...rootCertificates] };
}
