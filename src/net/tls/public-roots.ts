import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";

/**
 * TLS with the well-known roots that come with the runtime. Given by name wherever no other roots are: the launcher configures OpenSSL not to
 * load them by itself, because it would do so before the first connection of any kind, for 25 ms in which nothing else runs.
 */
export function publicRoots(): SecureContext {
  known ??= createSecureContext({ ca: [...rootCertificates] });
  return known;
}

let known: SecureContext | undefined;
