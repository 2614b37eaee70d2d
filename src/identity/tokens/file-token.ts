import type { Logger } from "../../base/logger.ts";
import { Secret } from "../../base/secret.ts";
import { readCertificateFile, readProblem } from "../files/read-file.ts";
import type { TokenFetcher } from "./token-fetcher.ts";

/** No server takes headers of this size; a log file mounted in a token's place must not be read for every call. */
const MAX_BYTES = 256 * 1024;

/**
 * The token of a mounted file, read at every call: the kubelet replaces it long before it expires. A file that cannot be read is no
 * error, because a client certificate may do instead.
 */
export function fileTokenFetcher(options: { readonly path: string; readonly log: Logger }): TokenFetcher {
  return {
    identityProvider: "",
    fetch: async () => {
      try {
        const token = (await readCertificateFile(options.path, MAX_BYTES)).toString("utf8").trim();
        return token === "" ? undefined : new Secret(token);
      } catch (failure) {
        options.log.warn("failed to fetch token from file", { path: options.path, error: readProblem(failure) });
        return undefined;
      }
    },
    stop: async () => undefined,
  };
}
