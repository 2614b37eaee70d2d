import { readFile } from "node:fs/promises";
import { errorCode } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { Secret } from "../../base/secret.ts";
import type { TokenFetcher } from "./token-fetcher.ts";

/**
 * The token of a mounted file, read at every call: the kubelet replaces it long before it expires. A file that cannot be read is no
 * error, because a client certificate may do instead.
 */
export function fileTokenFetcher(options: { readonly path: string; readonly log: Logger }): TokenFetcher {
  return {
    identityProvider: "",
    fetch: async () => {
      try {
        const token = (await readFile(options.path, "utf8")).trim();
        return token === "" ? undefined : new Secret(token);
      } catch (failure) {
        options.log.warn("failed to fetch token from file", { path: options.path, error: errorCode(failure) });
        return undefined;
      }
    },
    stop: async () => undefined,
  };
}
