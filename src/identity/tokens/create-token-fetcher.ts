import type { Logger } from "../../base/logger.ts";
import { Secret } from "../../base/secret.ts";
import { fileTokenFetcher } from "./file-token.ts";
import { startGceTokenFetcher } from "./gce-token.ts";
import { TokenError, type TokenFetcher } from "./token-fetcher.ts";

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
