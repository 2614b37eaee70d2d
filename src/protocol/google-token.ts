/** Google's security token service: a workload's token for a federated one. */
export interface FederatedTokenRequest {
  readonly subjectToken: string;
  readonly subjectTokenType: string;
  readonly grantType: string;
  /** Trust domain or workload pool, and who vouches for the subject there. */
  readonly identityNamespace: string;
  readonly identityProvider: string;
  readonly scope: string;
}

export const TOKEN_EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
export const JWT_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:jwt";
export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";
export const CLOUD_PLATFORM_SCOPE = "https://www.googleapis.com/auth/cloud-platform";

export function federatedTokenBody(request: FederatedTokenRequest): string {
  return JSON.stringify({
    audience: `identitynamespace:${request.identityNamespace}:${request.identityProvider}`,
    grantType: request.grantType,
    requestedTokenType: ACCESS_TOKEN_TYPE,
    subjectTokenType: request.subjectTokenType,
    subjectToken: request.subjectToken,
    scope: request.scope,
  });
}

/** Far above any token's life; an answer beyond it is not a time that a date could hold. */
const MAX_LIFETIME_SECONDS = 366 * 24 * 3600;

export interface FederatedToken {
  /** Empty when the answer has none. */
  readonly accessToken: string;
  /** Zero when the answer does not say. */
  readonly expiresInSeconds: number;
}

/** Undefined for an answer that is not a JSON object. */
export function parseFederatedToken(body: string): FederatedToken | undefined {
  const answer = parseObject(body);
  if (answer === undefined) return undefined;
  const { access_token: token, expires_in: seconds } = answer;
  return {
    accessToken: typeof token === "string" ? token : "",
    expiresInSeconds: typeof seconds === "number" && seconds > 0 ? Math.min(seconds, MAX_LIFETIME_SECONDS) : 0,
  };
}

export interface AccessToken {
  readonly accessToken: string;
  /** Undefined when the answer's time does not parse. */
  readonly expireTime: Date | undefined;
}

/** Undefined for an answer that is not a JSON object. */
export function parseAccessToken(body: string): AccessToken | undefined {
  const answer = parseObject(body);
  if (answer === undefined) return undefined;
  const { accessToken: token, expireTime } = answer;
  const time = typeof expireTime === "string" ? Date.parse(expireTime) : Number.NaN;
  return {
    accessToken: typeof token === "string" ? token : "",
    expireTime: Number.isNaN(time) ? undefined : new Date(time),
  };
}

function parseObject(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
