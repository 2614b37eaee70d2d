import { createSecureContext, type SecureContext } from "node:tls";
import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { readTextLimitedSync } from "../../files/read-file-sync.ts";
import { publicRoots } from "../../net/tls/public-roots.ts";
import { createBundleWarnings, parseTrustBundle } from "./trust-bundle.ts";

/**
 * TLS with the machine's roots, to which an operator may have added those of a registry or proxy; with the runtime's own where there are
 * none. Read when first needed: most workloads never need them.
 */
export function machineRoots(file: string | undefined, log: Logger): () => SecureContext {
  let known: SecureContext | undefined;
  const read = (): SecureContext | undefined => {
    if (file === undefined) return undefined;
    try {
      const bundle = parseTrustBundle(readTextLimitedSync(file));
      if (bundle.count === 0) throw new Error("no certificate in it");
      createBundleWarnings(log)(file, bundle);
      return createSecureContext({ ca: bundle.pem });
    } catch (failure) {
      log.warn(`cannot read the roots in ${file}, using those that come with the runtime: ${errorMessage(failure)}`);
      return undefined;
    }
  };
  return () => {
    known ??= read() ?? publicRoots();
    return known;
  };
}
