import type { Logger } from "../../base/logger.ts";
import { Secret } from "../../base/secret.ts";
import { readCertificateFile, readProblem } from "../files/read-file.ts";
import { startGceTokenFetcher } from "./gce-token.ts";
import { TokenError, type TokenFetcher } from "./token-fetcher.ts";

/** No server takes headers of this size; a log file mounted in a token's place must not be read for every call. */
const MAX_BYTES = 256 * 1024;

export interface TokenFetcherOptions {
  /** `CREDENTIAL_FETCHER_TYPE`: "JWT" or "", "GoogleComputeEngine", "Mock". */
  readonly type: string;
  /** "" for none. */
  readonly tokenPath: string;
  readonly trustDomain: string;
  /** `CREDENTIAL_IDENTITY_PROVIDER` */
  readonly identityProvider: string;
  /** "http://host:port" of the metadata server, from `GCE_METADATA_HOST`. */
  readonly metadataUrl?: string;
  readonly log: Logger;
}

/** The fetcher of that type; undefined when there is no token to be had. Throws a `TokenError` for an unknown type. */
export function startTokenFetcher(options: TokenFetcherOptions): TokenFetcher | undefined {
  const { log, type, trustDomain } = options;
  switch (type) {
    case "":
    case "JWT":
      return options.tokenPath === "" ? undefined : fileTokenFetcher({ path: options.tokenPath, log });
    case "GoogleComputeEngine":
      return startGceTokenFetcher({
        tokenPath: options.tokenPath,
        audience: trustDomain,
        identityProvider: options.identityProvider,
        log: log.scope("gcecred"),
        ...(options.metadataUrl === undefined ? {} : { metadataUrl: options.metadataUrl }),
      });
    case "Mock":
      return {
        identityProvider: "fakeIDP",
        fetch: async () => new Secret("test_token"),
        stop: async () => undefined,
      };
    default:
      throw new TokenError(
        "unknown-fetcher",
        `failed to create credential fetcher: invalid credential fetcher type ${type}`,
      );
  }
}

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
