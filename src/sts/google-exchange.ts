import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { Secret } from "../base/secret.ts";
import { wait } from "../base/wait.ts";
import { type HttpResponse, httpRequest } from "../net/http-client/http-request.ts";
import {
  CLOUD_PLATFORM_SCOPE,
  federatedTokenBody,
  parseAccessToken,
  parseFederatedToken,
} from "../protocol/google-token.ts";
import { type ExchangeRequest, identityNamespace, StsError } from "./core/exchange-request.ts";
import type { IssuedToken, TokenManager, TokenStatus } from "./token-manager.ts";

export interface GoogleExchangeOptions {
  readonly trustDomain: string;
  /** Who vouches for the subject: the fetcher's provider, else the cluster's address. */
  readonly identityProvider: string;
  readonly projectNumber: string;
  readonly log: Logger;
  /** Google's when absent. */
  readonly federatedEndpoint?: string;
  /** "https://host" of the IAM credentials service; Google's when absent. */
  readonly credentialsUrl?: string;
  /** Generation 1.7 took the trust domain and ignored the token's audience. */
  readonly namespaceFromToken?: boolean;
  readonly attempts?: number;
  readonly attemptDelayMs?: number;
  readonly timeoutMs?: number;
  /** PEM roots for both. */
  readonly ca?: string;
  readonly now?: () => number;
}

const FEDERATED_ENDPOINT = "https://sts.googleapis.com/v1/token";
const CREDENTIALS_URL = "https://iamcredentials.googleapis.com";
const DEFAULT_LIFETIME_MS = 3_600_000;
const MAX_STATUS_ENTRIES = 64;

/** Google's two steps: the subject token for a federated token, that for an access token of the mesh data plane's account. */
export function googleTokenManager(options: GoogleExchangeOptions): TokenManager {
  const now = options.now ?? Date.now;
  let issued: readonly TokenStatus[] = [];
  const note = (type: TokenStatus["type"], expiresAtMs: number) => {
    const alive = issued.filter((token) => token.expiresAtMs > now());
    issued = [...alive, { type, issuedAtMs: now(), expiresAtMs }].slice(-MAX_STATUS_ENTRIES);
  };
  return {
    exchange: async (request, signal) => {
      const federated = await fetchFederated(request, options, signal);
      note("federated token", now() + (federated.expiresInSeconds * 1000 || DEFAULT_LIFETIME_MS));
      const access = await fetchAccess(federated.token, request.scope, options, signal);
      note("access token", access.expiresAtMs);
      return access;
    },
    status: () => issued.filter((token) => token.expiresAtMs > now()),
  };
}

async function fetchFederated(
  request: ExchangeRequest,
  options: GoogleExchangeOptions,
  signal: AbortSignal,
): Promise<{ readonly token: Secret; readonly expiresInSeconds: number }> {
  const subjectToken = request.subjectToken.reveal();
  const namespace =
    options.namespaceFromToken === false ? options.trustDomain : identityNamespace(subjectToken, options.trustDomain);
  const body = federatedTokenBody({
    subjectToken,
    subjectTokenType: request.subjectTokenType,
    grantType: request.grantType,
    identityNamespace: namespace,
    identityProvider: options.identityProvider,
    scope: request.scope === "" ? CLOUD_PLATFORM_SCOPE : request.scope,
  });
  const url = options.federatedEndpoint ?? FEDERATED_ENDPOINT;
  const answer = await post({ what: "federated", url, body, headers: {} }, options, signal);
  const parsed = parseFederatedToken(answer.body);
  if (parsed === undefined || parsed.accessToken === "") {
    throw new StsError("invalid_target", "federated token response does not have access token");
  }
  return { token: new Secret(parsed.accessToken), expiresInSeconds: parsed.expiresInSeconds };
}

async function fetchAccess(
  federated: Secret,
  scope: string,
  options: GoogleExchangeOptions,
  signal: AbortSignal,
): Promise<IssuedToken> {
  const account = `service-${options.projectNumber}@gcp-sa-meshdataplane.iam.gserviceaccount.com`;
  const path = `/v1/projects/-/serviceAccounts/${account}:generateAccessToken`;
  const scopes = scope === "" ? [CLOUD_PLATFORM_SCOPE] : scope.split(" ").filter((one) => one !== "");
  const body = JSON.stringify({ name: "", delegates: null, scope: scopes, lifetime: { seconds: 3600 } });
  const headers = { authorization: `Bearer ${federated.reveal()}` };
  const url = `${options.credentialsUrl ?? CREDENTIALS_URL}${path}`;
  const answer = await post({ what: "access", url, body, headers }, options, signal);
  const parsed = parseAccessToken(answer.body);
  if (parsed === undefined || parsed.accessToken === "") {
    throw new StsError("invalid_target", "access token response does not have access token");
  }
  const now = options.now ?? Date.now;
  const expiresAtMs = parsed.expireTime?.getTime() ?? now() + DEFAULT_LIFETIME_MS;
  return { accessToken: new Secret(parsed.accessToken), expiresAtMs };
}

interface Step {
  readonly what: "federated" | "access";
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The answer with status 200. Lost connections and server errors are tried again, refusals are final. */
async function post(step: Step, options: GoogleExchangeOptions, signal: AbortSignal): Promise<HttpResponse> {
  const attempts = options.attempts ?? 5;
  const fail = (code: StsError["code"], problem: string) =>
    new StsError(code, `failed to exchange ${step.what} token ${problem}`);
  let problem = "(cancelled)";
  for (let attempt = 1; attempt <= attempts && !signal.aborted; attempt += 1) {
    if (attempt > 1) await wait(options.attemptDelayMs ?? 10, signal);
    try {
      const answer = await httpRequest({
        url: step.url,
        method: "POST",
        headers: { "content-type": "application/json", ...step.headers },
        body: step.body,
        timeoutMs: options.timeoutMs ?? 5_000,
        signal,
        ...(options.ca === undefined ? {} : { tls: { ca: options.ca } }),
      });
      if (answer.status === 200) return answer;
      problem = `(HTTP status ${answer.status})`;
      // A refused subject token is the client's to mend; a refused federated token is between the mesh and Google.
      if (answer.status < 500) throw fail(step.what === "federated" ? "invalid_request" : "invalid_target", problem);
    } catch (failure) {
      if (failure instanceof StsError) throw failure;
      problem = `(${errorMessage(failure)})`;
    }
    options.log.debug("token exchange attempt failed", { step: step.what, attempt, problem });
  }
  throw fail("invalid_target", problem);
}
