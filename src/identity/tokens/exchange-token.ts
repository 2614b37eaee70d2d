import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import type { Counter } from "../../base/metric-registry.ts";
import { Secret } from "../../base/secret.ts";
import { wait } from "../../base/wait.ts";
import { type HttpResponse, httpRequest } from "../../net/http-client/http-request.ts";
import {
  CLOUD_PLATFORM_SCOPE,
  federatedTokenBody,
  JWT_TOKEN_TYPE,
  parseFederatedToken,
  TOKEN_EXCHANGE_GRANT,
} from "../../protocol/google-token.ts";
import { TokenError, type TokenFetcher } from "./token-fetcher.ts";

export interface TokenExchangeOptions {
  readonly trustDomain: string;
  /** Asked for every token where it is not known from the beginning. */
  readonly identityProvider: string | (() => Promise<string>);
  /** Google's when absent. */
  readonly endpoint?: string;
  readonly attempts?: number;
  readonly attemptDelayMs?: number;
  readonly timeoutMs?: number;
  /** PEM roots for the endpoint. */
  readonly ca?: string;
  /** `num_outgoing_retries`; label: request_type. */
  readonly retries: Counter;
  readonly log: Logger;
}

const ENDPOINT = "https://sts.googleapis.com/v1/token";
/** Server errors that another try does not mend: unknown method (501), HTTP version (505), captive network (511). */
const FINAL_SERVER_ERRORS = new Set([501, 505, 511]);

/** Trades every token of the fetcher for a federated one, for CAs that accept only those. */
export function exchangingFetcher(tokens: TokenFetcher, options: TokenExchangeOptions): TokenFetcher {
  return {
    identityProvider: tokens.identityProvider,
    fetch: async (signal) => {
      const token = await tokens.fetch(signal);
      return token === undefined ? undefined : exchangeToken(token, options, signal);
    },
    stop: () => tokens.stop(),
  };
}

/** Rejects with a `TokenError` whose text shows neither token nor answer. */
export async function exchangeToken(
  token: Secret,
  options: TokenExchangeOptions,
  signal?: AbortSignal,
): Promise<Secret> {
  const { identityProvider } = options;
  const body = federatedTokenBody({
    subjectToken: token.reveal(),
    subjectTokenType: JWT_TOKEN_TYPE,
    grantType: TOKEN_EXCHANGE_GRANT,
    identityNamespace: options.trustDomain,
    identityProvider: typeof identityProvider === "string" ? identityProvider : await identityProvider(),
    scope: CLOUD_PLATFORM_SCOPE,
  });
  const attempts = options.attempts ?? 5;
  let problem = "cancelled";
  for (let attempt = 1; attempt <= attempts && signal?.aborted !== true; attempt += 1) {
    if (attempt > 1) {
      options.retries.inc(["token_exchange"]);
      await wait(options.attemptDelayMs ?? 50, signal);
    }
    const outcome = await post(body, options, signal);
    if (typeof outcome === "string") {
      problem = outcome;
      continue;
    }
    if (outcome.status === 200) {
      options.log.debug("exchanged the workload's token for a federated one");
      return exchanged(outcome);
    }
    problem = `HTTP status ${outcome.status}`;
    if (outcome.status < 500 || FINAL_SERVER_ERRORS.has(outcome.status)) break;
  }
  options.log.debug(`failed to exchange the token: ${problem}`);
  throw new TokenError("unavailable", `failed to exchange the token: ${problem}`);
}

function exchanged(answer: HttpResponse): Secret {
  const token = parseFederatedToken(answer.body)?.accessToken ?? "";
  if (token !== "") return new Secret(token);
  throw new TokenError("empty", "exchanged empty token: the token service's answer holds none");
}

/** The answer, or the reason why there is none. */
async function post(body: string, options: TokenExchangeOptions, signal?: AbortSignal): Promise<HttpResponse | string> {
  try {
    return await httpRequest({
      url: options.endpoint ?? ENDPOINT,
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      timeoutMs: options.timeoutMs ?? 5_000,
      ...(options.ca === undefined ? {} : { tls: { ca: options.ca } }),
      signal,
    });
  } catch (failure) {
    return errorMessage(failure);
  }
}
